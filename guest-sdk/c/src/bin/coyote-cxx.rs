fn main() {
    std::process::exit(coyote_cc::main(coyote_cc::Language::Cpp));
}
