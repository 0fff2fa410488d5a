// A guest for the tests of source positions: an inlined function, a C++ name, a C name.
// Build, in this directory, so that bank.wasm says the same on every machine:
//   clang++-19 --target=wasm32-wasi -O1 -g -matomics -mbulk-memory -nostdlib \
//     -ffile-prefix-map=$PWD=/guest -Wl,--no-entry -Wl,--export-all -o bank.wasm bank.cpp
namespace bank {

int balance;

[[gnu::always_inline]] static inline void add(int amount) {
    balance +=
        amount;
}

[[gnu::noinline]] int deposit(int amount) {
    add(amount);
    return __atomic_add_fetch(&balance, 1, __ATOMIC_SEQ_CST);
}

} // namespace bank

extern "C" void test_two_deposits(void) {
    bank::deposit(1);
    bank::deposit(2);
}
