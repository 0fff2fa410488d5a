//! Turns a function into an export that the tool calls.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, ItemFn, ReturnType, spanned::Spanned};

/// The kind of an export.
#[derive(Clone, Copy)]
pub enum Kind {
    Test,
    Setup,
    Recover,
}

impl Kind {
    fn attribute(self) -> &'static str {
        match self {
            Kind::Test => "#[coyote::test]",
            Kind::Setup => "#[coyote::setup]",
            Kind::Recover => "#[coyote::recover]",
        }
    }

    fn export(self, function: &ItemFn) -> String {
        match self {
            Kind::Test => {
                let name = function.sig.ident.to_string();
                format!("{}{}", coyote_abi::guest::TEST_PREFIX, name.trim_start_matches("r#"))
            }
            Kind::Setup => coyote_abi::guest::SETUP.to_string(),
            Kind::Recover => coyote_abi::guest::RECOVER.to_string(),
        }
    }
}

/// The function and its export, or the function and a compile error: the function stays, so that a mistake
/// in its signature does not make all its uses errors as well.
pub fn expand(kind: Kind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            let message = format!("{} is for functions with a body", kind.attribute());
            let error = Error::new(item.span(), message).to_compile_error();
            return quote!(#item #error);
        }
    };
    let export = match check(kind, &arguments, &function) {
        Ok(()) => export(kind, &function),
        Err(error) => error.to_compile_error(),
    };
    let native_test = quote!(all(test, not(target_family = "wasm")));
    let (native, elsewhere) = match kind {
        Kind::Test => (native(&function), quote!(#[cfg(not(#native_test))])),
        // Tests that rely on the setup would test something else without it.
        Kind::Setup => {
            let refused = quote! {
                #[cfg(#native_test)]
                ::core::compile_error!(
                    "#[coyote::setup] does not run outside of wasm: put #[cfg(target_family = \"wasm\")] before it, and \
                     have tests that need it do without"
                );
            };
            (refused, TokenStream::new())
        }
        Kind::Recover => Default::default(),
    };
    quote! {
        // Outside of wasm only `cargo test` calls it.
        #[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
        #elsewhere
        #function
        #native
        #export
    }
}

/// The test for `cargo test` outside of wasm: an ordinary one with the same name.
fn native(function: &ItemFn) -> TokenStream {
    let ident = &function.sig.ident;
    let (attributes, visibility) = (&function.attrs, &function.vis);
    let mut inner = function.clone();
    // Attributes such as documentation, `should_panic` and `cfg` are those of the test.
    inner.attrs.clear();
    inner.vis = syn::Visibility::Inherited;
    quote! {
        #[cfg(all(test, not(target_family = "wasm")))]
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility fn #ident() {
            #inner
            ::coyote::__private::run(#ident)
        }
    }
}

fn export(kind: Kind, function: &ItemFn) -> TokenStream {
    let name = kind.export(function);
    let ident = &function.sig.ident;
    let conditions = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    quote! {
        #(#conditions)*
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            // SAFETY: the names are reserved for the tool, and the linker refuses a second export of a name.
            #[unsafe(export_name = #name)]
            extern "C" fn export() {
                ::coyote::__private::enter(#ident);
            }
        };
    }
}

/// Refuses every signature other than `fn name()`.
fn check(kind: Kind, arguments: &TokenStream, function: &ItemFn) -> Result<(), Error> {
    let attribute = kind.attribute();
    let refuse = |at: &dyn ToTokens, what: &str| {
        Err(Error::new_spanned(at.to_token_stream(), format!("{attribute}: {what}")))
    };
    let signature = &function.sig;
    if !arguments.is_empty() {
        return refuse(arguments, "the attribute takes no arguments");
    }
    if let Some(token) = &signature.asyncness {
        return refuse(token, "the function cannot be async: run an executor inside of it");
    }
    if let Some(token) = &signature.unsafety {
        return refuse(token, "the function must be safe to call");
    }
    if let Some(token) = &signature.abi {
        return refuse(token, "the function must be a plain Rust one: the export is made for it");
    }
    if !signature.generics.params.is_empty() || signature.generics.where_clause.is_some() {
        return refuse(&signature.generics, "the function cannot be generic: there is one export");
    }
    if !signature.inputs.is_empty() {
        return refuse(
            &signature.inputs,
            "the function takes no arguments: let it choose values with coyote::nondet",
        );
    }
    match &signature.output {
        ReturnType::Default => Ok(()),
        ReturnType::Type(_, ty) => refuse(ty, "the function returns nothing: it fails by panicking"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(kind: Kind, arguments: &str, item: &str) -> String {
        let function: ItemFn = syn::parse_str(item).unwrap();
        check(kind, &arguments.parse().unwrap(), &function).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_function_is_exported_under_its_name() {
        let function: ItemFn = syn::parse_str("fn transfer() {}").unwrap();
        check(Kind::Test, &TokenStream::new(), &function).unwrap();
        assert_eq!(Kind::Test.export(&function), "coyote.test.transfer");
        assert_eq!(Kind::Setup.export(&function), "coyote.setup");
        assert_eq!(Kind::Recover.export(&function), "coyote.recover");
        let expanded = expand(Kind::Test, TokenStream::new(), function.to_token_stream()).to_string();
        assert!(expanded.contains("export_name = \"coyote.test.transfer\""), "{expanded}");
        let function: ItemFn = syn::parse_str("fn r#move() {}").unwrap();
        assert_eq!(Kind::Test.export(&function), "coyote.test.move");
    }

    #[test]
    fn other_functions_are_refused_with_what_to_do() {
        let errors: Vec<_> = [
            ("", "async fn f() {}"),
            ("", "unsafe fn f() {}"),
            ("", "extern \"C\" fn f() {}"),
            ("", "fn f<T>() {}"),
            ("", "fn f(n: u32) {}"),
            ("", "fn f() -> bool { true }"),
            ("slow", "fn f() {}"),
        ]
        .map(|(arguments, item)| error_of(Kind::Test, arguments, item))
        .into();
        assert_eq!(
            errors.join("\n"),
            "#[coyote::test]: the function cannot be async: run an executor inside of it\n\
             #[coyote::test]: the function must be safe to call\n\
             #[coyote::test]: the function must be a plain Rust one: the export is made for it\n\
             #[coyote::test]: the function cannot be generic: there is one export\n\
             #[coyote::test]: the function takes no arguments: let it choose values with coyote::nondet\n\
             #[coyote::test]: the function returns nothing: it fails by panicking\n\
             #[coyote::test]: the attribute takes no arguments"
        );
    }

    #[test]
    fn what_is_no_function_stays_and_is_named() {
        let expanded = expand(Kind::Setup, TokenStream::new(), "struct S;".parse().unwrap()).to_string();
        assert!(expanded.starts_with("struct S ;"), "{expanded}");
        assert!(expanded.contains("#[coyote::setup] is for functions with a body"), "{expanded}");
    }
}
