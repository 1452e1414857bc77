"""The authors' formats: their weights, configurations and numbers beside ours."""
