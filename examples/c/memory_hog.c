/* Grows memory until it is refused. Its maximum is 16 MiB.
 *
 * Expected: both pass. `by_pages` sees the same limit in every iteration, and memory that was grown is
 * gone in the next one; `by_malloc` gets NULL in the end.
 *
 * flags: -Wl,--max-memory=16777216 */
#include <coyote.h>

#define PAGE_BYTES 65536u
#define PAGES_MAX 256u

COYOTE_TEST(by_pages) {
  unsigned start = __builtin_wasm_memory_size(0);
  coyote_choose_bool(); /* so that there is more than one execution */
  COYOTE_ASSERT(start < PAGES_MAX);
  for (unsigned pages = start; pages < PAGES_MAX; pages++) {
    COYOTE_ASSERT(__builtin_wasm_memory_grow(0, 1) == pages);
    volatile char *last = (volatile char *)((pages + 1) * PAGE_BYTES - 1);
    COYOTE_ASSERT_MESSAGE(*last == 0, "new memory is not zero");
    *last = 1;
  }
  COYOTE_ASSERT(__builtin_wasm_memory_grow(0, 1) == (unsigned)-1);
  COYOTE_ASSERT(__builtin_wasm_memory_size(0) == PAGES_MAX);
}

COYOTE_TEST(by_malloc) {
  unsigned blocks = 0;
  coyote_choose_bool();
  for (volatile char *block; (block = malloc(PAGE_BYTES)) != NULL; blocks++) {
    block[PAGE_BYTES - 1] = 1;
  }
  COYOTE_ASSERT(blocks > PAGES_MAX / 2 && blocks < PAGES_MAX);
}
