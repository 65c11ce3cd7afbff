import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { programName } from "../process/resolve-command.js";
import type { TemplateField } from "./entry.js";
import { defaultText, type NamedFile, pathWithin, separators, userMark } from "./named-file.js";

const javaScript =
  "package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs .pnpmfile.mjs yarn.lock bun.lock bun.lockb " +
  ".npmrc .yarnrc .yarnrc.yml bunfig.toml deno.json deno.jsonc deno.lock nx.json project.json turbo.json node_modules";
const python =
  "pyproject.toml uv.lock uv.toml poetry.lock poetry.toml pdm.lock Pipfile Pipfile.lock requirements.txt setup.py setup.cfg .python-version .venv " +
  "__pypackages__";
const gradle =
  "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradle/wrapper/gradle-wrapper.properties";

/** What a program reads in its working directory, or in a folder above it, to decide what it runs. A folder counts as soon as it exists. */
const manifests: readonly (readonly [program: RegExp, files: string])[] = [
  [/^(?:np[xm]|pnp[xm]|yarn|corepack|bunx?|deno|nx|turbo|lerna|tsx|ts-node|vite-node)$/, javaScript],
  [/^(?:uvx?|pipx?|pip3|poetry|pdm|hatch|pipenv|rye)$/, python],
  [/^g?make$/, "GNUmakefile makefile Makefile"],
  [/^just$/, "justfile Justfile .justfile"],
  [/^(?:go-)?task$/, "Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml"],
  [/^cargo$/, "Cargo.toml Cargo.lock .cargo/config.toml .cargo/config rust-toolchain rust-toolchain.toml"],
  [/^go$/, "go.mod go.sum go.work"],
  [/^gradlew?$/, gradle],
  [/^mvnw?$/, "pom.xml .mvn/extensions.xml .mvn/maven.config .mvn/jvm.config .mvn/wrapper/maven-wrapper.properties"],
  [
    /^(?:(?:docker-|podman-)?compose|build)$/,
    "compose.yaml compose.yml compose.override.yaml compose.override.yml docker-compose.yaml docker-compose.yml " +
      "docker-compose.override.yaml docker-compose.override.yml Dockerfile .env",
  ],
  [/^dotnet$/, "global.json NuGet.config nuget.config Directory.Build.props Directory.Build.targets"],
  [/^nix(?:-shell|-build)?$/, "flake.nix flake.lock shell.nix default.nix"],
  [/^(?:mise|asdf|direnv)$/, "mise.toml .mise.toml .tool-versions .envrc"],
  [/^(?:bundle|rake)$/, "Gemfile Gemfile.lock Rakefile"],
  [/^composer$/, "composer.json composer.lock"],
];

const interpreters = /^(?:node|nodejs|bun|deno|tsx|ts-node|vite-node|nodemon|electron|uv|(?:python|pypy)[\d.]*)$/;
/** What interpreters append to the name of a file, a folder or a module. */
const suffixes = [
  ...[".js", ".json", ".node", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".py", ".pyc", ".so"],
  ...["/package.json", "/index.js", "/index.ts", "/index.tsx", "/__init__.py", "/__main__.py"],
];
/** Each costs as many reads as there are suffixes. */
const maxScriptWords = 64;

/** Whether a command line names a program that reads manifests, such as `make`, itself or as an argument of another one. */
export function readsManifests(command: readonly TemplateField[]): boolean {
  return manifestNames(command).length > 0;
}

/**
 * The existing manifests that a program of a command line reads: in the working directory, and in each folder above it, because most programs
 * search there. Those in the home directory or above it are the user's.
 */
export async function manifestFiles(command: readonly TemplateField[], folder: string): Promise<NamedFile[]> {
  const names = manifestNames(command);
  const [program] = command;
  if (program === undefined || names.length === 0) return [];
  // A process sees its working directory without links.
  const start = await realpath(folder).catch(() => folder);
  const home = await realpath(homedir()).catch(() => homedir());
  const files: NamedFile[] = [];
  for (let each = start; each === start || each !== home; each = dirname(each)) {
    for (const path of names.map((name) => join(each, name))) {
      if (await mayExist(path)) files.push({ field: program.field, path, isCertain: true, isNearby: true });
    }
    if (dirname(each) === each) break;
  }
  return files;
}

/**
 * The existing files that an interpreter finds for shorter names: `server.js` for `node server`, `index.js` for `node .`, `app/server.py` for
 * `python -m app.server`.
 */
export async function scriptFiles(
  command: readonly TemplateField[],
  folder: string,
  pluginRoot: string,
): Promise<NamedFile[]> {
  if (!wordsOf(command).some((word) => interpreters.test(word))) return [];
  const files: NamedFile[] = [];
  let count = 0;
  let before = "";
  for (const { field, template } of command.slice(1)) {
    const text = defaultText(template, pluginRoot);
    const words = [text, ...text.split(separators)].flatMap((word) => {
      const name = word.replace(/^-[a-zA-Z]*?[mr]/, "");
      const isModule = /^[\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)+$/u.test(name);
      return isModule ? [name, name.replaceAll(".", "/"), name.replace(/\..*/, "")] : [name];
    });
    for (const word of new Set(words)) {
      if (word === "" || word.includes(userMark)) continue;
      count += 1;
      if (count > maxScriptWords) return files;
      const path = resolve(folder, word);
      // A word such as ".." means the rest of the repository, not the system.
      const isCertain = pathWithin(path, pluginRoot) !== undefined;
      for (const each of suffixes.map((suffix) => `${path}${suffix}`)) {
        if (await mayExist(each)) files.push({ field, path: each, isCertain });
      }
    }
    // Arguments after the script belong to it. An option may have a value.
    if (!before.startsWith("-") && (await isFile(resolve(folder, text)))) break;
    before = text;
  }
  return files;
}

function manifestNames(command: readonly TemplateField[]): string[] {
  const words = wordsOf(command);
  return manifests
    .filter(([program]) => words.some((word) => program.test(word)))
    .flatMap(([, files]) => files.split(" "));
}

function wordsOf(command: readonly TemplateField[]): string[] {
  return command.flatMap(({ template }) => defaultText(template, "").split(separators)).map(programName);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function mayExist(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => !["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(code ?? ""),
  );
}
