"""Rules shared by the generator and the runtime, so that both agree: settings, names, failures."""
