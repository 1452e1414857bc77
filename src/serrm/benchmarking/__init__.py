"""How fast the engine is beside what the machine can do: counted work, measured time and memory, Markdown tables."""
