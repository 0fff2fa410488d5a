mod raft;
