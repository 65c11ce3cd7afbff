/** The variables of this process for one that it starts, whose home is the given folder. Default: the user's own. */
export function childEnvironment(home?: string): NodeJS.ProcessEnv {
  // If it is set, it adds 75 ms to every start of Node.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  if (home === undefined) return env;
  return { ...env, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, XDG_DATA_HOME: home, XDG_CACHE_HOME: home };
}
