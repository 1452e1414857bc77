"""Tables, figures, claims and the page of a profile's results.

- `paper`: the paper's numbers and claims, from paper.yaml; `recipes`: differences of settings from the paper's.
- `results`: the evaluations of a profile with their settings (class Report), and the scores in them; most others
  use it.
- Tables: `paper_tables` (ours beside the paper's), `other_tables`, and `tables`, which builds all of these; `formats`
  writes them.
- `figures` and its `style`.
- Claims: `claim_rules` judge scores, `claim_checks` apply them to runs, `claims` sums up the verdicts.
- The page: `headline` (the main scores), `conclusion` (which model is ahead), and `report`, which writes all files.
"""
