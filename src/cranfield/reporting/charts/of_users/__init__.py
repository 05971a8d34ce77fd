"""Charts of users: what they clicked, how models foresee it, what experiments find."""
