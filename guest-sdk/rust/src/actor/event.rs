//! Events: the values that can be sent to actors.

use std::any::{Any, type_name};

/// A value that can be sent to actors: any type that may be sent to another worker. States declare reactions to types.
pub trait Event: Any + Send {}

impl<T: Any + Send> Event for T {}

/// Halts an actor that has no other reaction to it: every state without a reaction is left first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halt;

/// The event that an actor handles, in states that react to it, whenever it finds no other event to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultEvent;

/// The name of a type without the path of its module.
pub(super) fn short_name<T>() -> &'static str {
    let name = type_name::<T>();
    let path = name.find('<').unwrap_or(name.len());
    let begin = name.get(..path).and_then(|path| path.rfind("::")).map_or(0, |at| at + 2);
    name.get(begin..).unwrap_or(name)
}
