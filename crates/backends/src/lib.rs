//! Agents that answer in conversations.
