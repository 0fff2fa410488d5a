mod coffee_machine;
mod drinks_robot;
mod raft;
