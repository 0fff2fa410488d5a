//! Replacement of wasm-bindgen-test for runs without a browser: its tests run in the standard test harness.

use proc_macro::{Delimiter, TokenStream, TokenTree};

const TEST: &str = "#[::core::prelude::v1::test]";

/// A block that polls `future` until it is ready; the worker parks while the future is pending.
const BLOCK_ON: &str = "{
    struct Unpark(::std::thread::Thread);
    impl ::std::task::Wake for Unpark {
        fn wake(self: ::std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = ::std::pin::pin!(future);
    let waker = ::std::sync::Arc::new(Unpark(::std::thread::current())).into();
    let mut context = ::std::task::Context::from_waker(&waker);
    loop {
        match ::std::future::Future::poll(future.as_mut(), &mut context) {
            ::std::task::Poll::Ready(output) => break output,
            ::std::task::Poll::Pending => ::std::thread::park(),
        }
    }
}";

fn parsed(text: &str) -> TokenStream {
    text.parse().expect("it is Rust")
}

/// `async fn NAME() ..` becomes `fn NAME() { async fn NAME() ..; block_on(NAME()) }`.
#[proc_macro_attribute]
pub fn wasm_bindgen_test(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut attributes = TokenStream::new();
    let mut rest = item.into_iter().peekable();
    while let Some(TokenTree::Punct(punct)) = rest.peek() {
        if punct.as_char() != '#' {
            break;
        }
        attributes.extend(rest.by_ref().take(2));
    }
    let function: Vec<TokenTree> = rest.collect();
    let word = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident.to_string() == word);
    let at = function.iter().position(|token| word(token, "fn"));
    let is_async = function.iter().take(at.unwrap_or(0)).any(|token| word(token, "async"));
    let mut test = parsed(TEST);
    test.extend(attributes);
    let name = at.and_then(|at| function.get(at + 1)).filter(|_| is_async).map(ToString::to_string);
    let Some(name) = name else {
        test.extend(function);
        return test;
    };
    let unit = !function.iter().any(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '>'));
    let output = if unit { "" } else { "-> impl ::std::process::Termination" };
    let body = parsed(&format!("let future = {name}(); {BLOCK_ON}"));
    let mut inner: TokenStream = function.into_iter().collect();
    inner.extend(body);
    test.extend(parsed(&format!("fn {name}() {output}")));
    test.extend([TokenTree::Group(proc_macro::Group::new(Delimiter::Brace, inner))]);
    test
}

#[proc_macro]
pub fn wasm_bindgen_test_configure(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

#[proc_macro]
pub fn console_log(arguments: TokenStream) -> TokenStream {
    parsed(&format!("::std::println!({arguments})"))
}

#[proc_macro]
pub fn console_error(arguments: TokenStream) -> TokenStream {
    parsed(&format!("::std::eprintln!({arguments})"))
}
