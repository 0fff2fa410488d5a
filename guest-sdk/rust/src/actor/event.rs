//! What can be sent.

use std::any::{Any, type_name};

/// What can be sent to actors: values of any type that may go to another worker. Its type is what actors declare.
pub trait Event: Any + Send {}

impl<T: Any + Send> Event for T {}

/// Halts the actor that does not handle it otherwise: every state without a reaction to it is left first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halt;

/// Happens as often as an actor finds no other event to take, in states that react to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultEvent;

/// The name of a type without the path of its module.
pub(super) fn short_name<T>() -> &'static str {
    let name = type_name::<T>();
    let path = name.find('<').unwrap_or(name.len());
    let begin = name.get(..path).and_then(|path| path.rfind("::")).map_or(0, |at| at + 2);
    name.get(begin..).unwrap_or(name)
}
