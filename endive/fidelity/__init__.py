"""What commits cost, row by row of the documents' tables: the documents, the model and the real libraries side by side."""
