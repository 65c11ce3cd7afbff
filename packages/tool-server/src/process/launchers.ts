/** A family of variables that configures a launcher. */
export interface LauncherVariables {
  readonly pattern: RegExp;
  /** The same for people. */
  readonly shown: string;
}

// What npm sets for its own children describes the package that it runs, not the user's settings.
const npm: LauncherVariables = {
  pattern: /^npm_config_(?!(?:local_prefix|global_prefix|prefix|node_gyp|init_module|user_agent|npm_version)$)/i,
  shown: "npm_config_*",
};

const families: readonly (readonly [launcher: RegExp, variables: readonly LauncherVariables[]])[] = [
  [/^(?:npx|npm|pnpx|pnpm|yarn|bunx|bun)$/, [npm, family("YARN_"), family("COREPACK_"), family("BUN_CONFIG_")]],
  [/^(?:uvx|uv)$/, [family("UV_")]],
  [/^(?:pipx|pip|pip3)$/, [family("PIP_"), family("PIPX_")]],
  [/^(?:docker|podman|nerdctl)$/, [family("DOCKER_"), family("CONTAINER_"), family("CONTAINERS_")]],
  [/^deno$/, [family("DENO_")]],
  [/^(?:go|cargo|nix)$/, []],
];

/** Whether a command downloads the program that it runs, so that its first start can take minutes. */
export function isLauncher(command: string): boolean {
  return families.some(([launcher]) => launcher.test(programOf(command)));
}

/** The variables that configure the launcher; those of all launchers if the command is not known yet. */
export function launcherVariables(command: string | undefined): readonly LauncherVariables[] {
  return families.flatMap(([launcher, variables]) =>
    command === undefined || launcher.test(programOf(command)) ? variables : [],
  );
}

function programOf(command: string): string {
  return (command.split(/[\\/]/).at(-1) ?? "").replace(/\.(?:exe|cmd)$/i, "");
}

function family(prefix: string): LauncherVariables {
  return { pattern: new RegExp(`^${prefix}`), shown: `${prefix}*` };
}
