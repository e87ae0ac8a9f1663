/* A ring buffer for bytes: a queue of fixed size that never moves its contents.
 *
 * Two counters only ever grow. The place in the array is the counter modulo the
 * capacity, which is a power of two, so that a mask replaces the division and
 * the counters may overflow without harm.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CAPACITY 8u
#define MASK (CAPACITY - 1u)

struct ring {
    uint8_t data[CAPACITY];
    uint32_t written; /* bytes put in since the start */
    uint32_t read;    /* bytes taken out since the start */
};

static uint32_t ring_used(const struct ring *ring) {
    return ring->written - ring->read;
}

/* Store one byte; return false when the buffer is full. */
static bool ring_put(struct ring *ring, uint8_t byte) {
    if (ring_used(ring) == CAPACITY) {
        return false;
    }
    ring->data[ring->written++ & MASK] = byte;
    return true;
}

/* Fetch the oldest byte; return false when the buffer is empty. */
static bool ring_get(struct ring *ring, uint8_t *byte) {
    if (ring_used(ring) == 0) {
        return false;
    }
    *byte = ring->data[ring->read++ & MASK];
    return true;
}

int main(void) {
    struct ring ring = {0};
    const char *message = "a message longer than the ring";
    uint8_t byte;

    /* The writer is faster than the reader: three bytes in, then two bytes out. */
    for (size_t i = 0; message[i] != '\0'; i++) {
        while (!ring_put(&ring, (uint8_t)message[i])) {
            ring_get(&ring, &byte);
            putchar(byte);
        }
        if (i % 3 == 2) {
            for (int k = 0; k < 2 && ring_get(&ring, &byte); k++) {
                putchar(byte);
            }
        }
    }
    while (ring_get(&ring, &byte)) {
        putchar(byte);
    }
    putchar('\n');
    return 0;
}
