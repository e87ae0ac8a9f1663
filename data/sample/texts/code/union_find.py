"""Union-find, also known as disjoint sets, with a small use: islands joined by bridges."""

from collections.abc import Hashable


class UnionFind:
    """Groups of items that can be merged but never split."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}
        self._size: dict[Hashable, int] = {}

    def find(self, item: Hashable) -> Hashable:
        """Return the representative of the group that holds the item."""
        if item not in self._parent:
            self._parent[item] = item
            self._size[item] = 1
        while self._parent[item] != item:
            # Path halving: let every second node point to its grandparent.
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def union(self, left: Hashable, right: Hashable) -> bool:
        """Merge two groups; return False when they were one already."""
        big, small = self.find(left), self.find(right)
        if big == small:
            return False
        if self._size[big] < self._size[small]:
            big, small = small, big
        self._parent[small] = big
        self._size[big] += self._size[small]
        return True

    def groups(self) -> list[list[Hashable]]:
        """List the groups, in the order in which their first member appeared."""
        members: dict[Hashable, list[Hashable]] = {}
        for item in list(self._parent):
            members.setdefault(self.find(item), []).append(item)
        return list(members.values())


if __name__ == "__main__":
    islands = UnionFind()
    bridges = [("north", "mill"), ("mill", "church"), ("harbour", "sand"), ("church", "north")]
    for start, end in bridges:
        if not islands.union(start, end):
            print(f"the bridge from {start} to {end} closes a ring")
    for number, group in enumerate(islands.groups(), start=1):
        print(number, ", ".join(str(name) for name in group))
