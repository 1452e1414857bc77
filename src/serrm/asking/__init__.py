"""A language model behind a chat API, asked for Sudoku solutions: the GPT-OSS row of the paper's table 1.

Prompts go out, replies come in and stay in a cache, grids are read out of them and scored like every other model's.
Nothing here needs torch.
"""
