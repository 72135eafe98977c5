"""From the IR to what will be served: names, arguments, schemas, annotations."""
