/* Transpose a matrix block by block.
 *
 * The plain double loop reads along rows and writes along columns, so nearly
 * every write touches a new cache line. Working on small square blocks keeps
 * both the source lines and the target lines in the cache until they are full.
 */
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 16 };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Write the transpose of source (rows x columns) to target (columns x rows). */
static void transpose(const double *source, double *target, size_t rows, size_t columns) {
    for (size_t top = 0; top < rows; top += BLOCK) {
        size_t bottom = smaller(top + BLOCK, rows);
        for (size_t left = 0; left < columns; left += BLOCK) {
            size_t right = smaller(left + BLOCK, columns);
            for (size_t i = top; i < bottom; i++) {
                for (size_t j = left; j < right; j++) {
                    target[j * rows + i] = source[i * columns + j];
                }
            }
        }
    }
}

int main(void) {
    const size_t rows = 37, columns = 53; /* no multiples of the block on purpose */
    double *source = malloc(rows * columns * sizeof *source);
    double *target = malloc(rows * columns * sizeof *target);
    size_t wrong = 0;

    if (source == NULL || target == NULL) {
        fputs("out of memory\n", stderr);
        free(source);
        free(target);
        return EXIT_FAILURE;
    }
    for (size_t k = 0; k < rows * columns; k++) {
        source[k] = (double)k;
    }
    transpose(source, target, rows, columns);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            wrong += target[j * rows + i] != source[i * columns + j];
        }
    }
    printf("%zu of %zu entries are wrong\n", wrong, rows * columns);
    free(source);
    free(target);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
