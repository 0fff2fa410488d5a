//! The compiler of C++ guests.

fn main() {
    std::process::exit(coyote_cc::main(coyote_cc::Language::Cpp));
}
