"use strict";

/**
 * A binary heap as a priority queue. The parent of place i is (i - 1) >> 1 and
 * its children are 2i + 1 and 2i + 2, so no links have to be stored at all.
 */
class PriorityQueue {
  /** @param {(a: any, b: any) => number} compare negative when a goes first */
  constructor(compare) {
    this.compare = compare;
    this.items = [];
  }

  get size() {
    return this.items.length;
  }

  push(item) {
    const items = this.items;
    let place = items.push(item) - 1;
    // Let the new item rise until its parent is not larger.
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.compare(items[parent], items[place]) <= 0) break;
      [items[parent], items[place]] = [items[place], items[parent]];
      place = parent;
    }
  }

  pop() {
    const items = this.items;
    if (items.length === 0) return undefined;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0) {
      items[0] = last;
      this.sink(0);
    }
    return first;
  }

  sink(place) {
    const items = this.items;
    for (;;) {
      let best = place;
      for (const child of [2 * place + 1, 2 * place + 2]) {
        if (child < items.length && this.compare(items[child], items[best]) < 0) best = child;
      }
      if (best === place) return;
      [items[best], items[place]] = [items[place], items[best]];
      place = best;
    }
  }
}

// Household tasks: the smaller the number, the sooner it has to be done.
const tasks = new PriorityQueue((a, b) => a.urgency - b.urgency);
tasks.push({ name: "water the beans", urgency: 2 });
tasks.push({ name: "close the roof window, it rains", urgency: 1 });
tasks.push({ name: "oil the gate", urgency: 9 });
tasks.push({ name: "take the bread out", urgency: 1.5 });
while (tasks.size > 0) {
  console.log(tasks.pop().name);
}
