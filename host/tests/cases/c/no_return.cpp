// A function whose value is taken to be there, without its return: clang leaves the end out.
// flags: -w
// run: -i 1
// exit: 2
// line: where a C++ function ends without its return
struct S { S(); ~S(); };
S::S() {}
S::~S() {}
S f() { }
int main() { f(); return 0; }
