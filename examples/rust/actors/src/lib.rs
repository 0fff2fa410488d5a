mod coffee_machine;
mod drinks_robot;
mod generated;
mod raft;
