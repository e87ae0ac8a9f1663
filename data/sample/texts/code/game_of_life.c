/* Conway's game of life on a small board whose edges are joined like a torus.
 *
 * A living cell survives with two or three living neighbours. A dead cell comes
 * to life with exactly three. All cells change at the same moment, therefore the
 * next generation is written to a second board.
 */
#include <stdio.h>
#include <string.h>

enum { ROWS = 8, COLUMNS = 12, GENERATIONS = 4 };

typedef unsigned char board[ROWS][COLUMNS];

static int neighbours(board cells, int row, int column) {
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dy == 0 && dx == 0) {
                continue; /* a cell is not its own neighbour */
            }
            int y = (row + dy + ROWS) % ROWS;
            int x = (column + dx + COLUMNS) % COLUMNS;
            alive += cells[y][x];
        }
    }
    return alive;
}

static void step(board cells) {
    board next;
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            int alive = neighbours(cells, row, column);
            next[row][column] = alive == 3 || (alive == 2 && cells[row][column]);
        }
    }
    memcpy(cells, next, sizeof(board));
}

static void show(board cells, int generation) {
    printf("generation %d\n", generation);
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            putchar(cells[row][column] ? 'o' : '.');
        }
        putchar('\n');
    }
}

int main(void) {
    /* A glider: after four generations it has moved one step down and right. */
    board cells = {{0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    for (int generation = 0; generation <= GENERATIONS; generation++) {
        show(cells, generation);
        step(cells);
    }
    return 0;
}
