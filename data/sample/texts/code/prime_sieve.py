"""The sieve of Eratosthenes on a bytearray, and the factors of a number with its help."""

from itertools import pairwise
from math import isqrt


def primes_up_to(limit: int) -> list[int]:
    """Return all primes that are not greater than the limit."""
    if limit < 2:
        return []
    is_prime = bytearray([1]) * (limit + 1)
    is_prime[0] = is_prime[1] = 0
    for candidate in range(2, isqrt(limit) + 1):
        if is_prime[candidate]:
            # Smaller multiples were crossed out by smaller primes already.
            start = candidate * candidate
            hits = len(range(start, limit + 1, candidate))
            is_prime[start::candidate] = bytes(hits)
    return [number for number in range(limit + 1) if is_prime[number]]


def factors(number: int) -> list[int]:
    """Return the prime factors in rising order, each as often as it divides the number."""
    if number < 1:
        raise ValueError(f"only positive whole numbers can be factored, not {number}")
    result = []
    for prime in primes_up_to(isqrt(number)):
        while number % prime == 0:
            result.append(prime)
            number //= prime
    if number > 1:
        result.append(number)  # what remains has no divisor up to its root
    return result


def main() -> None:
    """Print a few primes, the largest gap between neighbours, and some factors."""
    primes = primes_up_to(200)
    print("first primes:", *primes[:12])
    gap, left = max((right - left, left) for left, right in pairwise(primes))
    print(f"largest gap below 200: {gap}, after {left}")
    for number in (60, 97, 1001, 1024):
        print(number, "=", " * ".join(str(factor) for factor in factors(number)))


if __name__ == "__main__":
    main()
