"""Raw files become puzzle sets: seeded subsets, every answer checked, as Parquet."""
