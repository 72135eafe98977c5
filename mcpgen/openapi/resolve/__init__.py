"""Resolution and checks of `$ref`s, bundling of files, and the identity of an API."""
