import { copyFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeForApproval } from "./describe-for-approval.js";
import { fingerprintEntry } from "./fingerprint-entry.js";
import { createFolder, entryOf, type TestFolder } from "./trust.test.helper.js";

/** What happens to an approval after all files of the project were replaced. */
type Outcome = "covered" | "named" | "covered and named";

/**
 * Launch lines as READMEs of servers and projects have them. `covered`: the approval is void. `named`: it stays valid, but says that it does
 * not cover the code. Both: what decides about the code is covered, but not the code itself.
 */
const launchLines: Readonly<Record<Outcome, readonly string[]>> = {
  covered: [
    "node server.js",
    "node ./server.js --stdio",
    "node --enable-source-maps dist/index.js",
    "node --no-warnings --enable-source-maps dist/index.js",
    "node --experimental-strip-types server.ts",
    "nodejs server.js",
    "/usr/bin/node server.js",
    "python server.py",
    "python3 server.py --verbose",
    "python3.12 -u server.py",
    "python3 -uB ./app/server.py",
    "pypy3 server.py",
    "perl server.pl",
    "ruby server.rb",
    "php server.php",
    "./bin/server",
    "${HOST_PLUGIN_ROOT}/bin/server --stdio",
    "target/release/server",
  ],
  "covered and named": [
    "npx -y @acme/server",
    "npx @acme/server@1.2.3",
    "npx -p @acme/server acme-server",
    "npx tsx server.ts",
    "npm start",
    "npm run start",
    "npm run --silent mcp",
    "npm exec @acme/server",
    "npm exec -- acme-server",
    "npm --prefix . start",
    "pnpm start",
    "pnpm dlx @acme/server",
    "pnpm exec acme-server",
    "pnpx @acme/server",
    "yarn start",
    "yarn dlx @acme/server",
    "yarn run mcp",
    "corepack yarn start",
    "bun server.ts",
    "bun run start",
    "bun x @acme/server",
    "bunx @acme/server",
    "bunx --bun @acme/server",
    "deno run -A server.ts",
    "deno run -A npm:@acme/server",
    "deno run -A jsr:@acme/server",
    "deno task start",
    "nx serve server",
    "nx run server:serve",
    "turbo run start",
    "tsx server.ts",
    "ts-node server.ts",
    "node --import tsx server.ts",
    "node -r ./hook.js server.js",
    "node --require=./hook.js server.js",
    "node --loader ts-node/esm server.ts",
    "node --watch server.js",
    "nodemon server.js",
    "uvx acme-server",
    "uvx --from git+https://git.example/acme acme-server",
    "uv run server.py",
    "uv run acme-server",
    "uv run --directory . acme-server",
    "uv tool run acme-server",
    "uv run python -m app",
    "uv --directory . run mcp run server.py",
    "pipx run acme-server",
    "poetry run acme-server",
    "poetry run python -m app",
    "pdm run acme-server",
    "hatch run serve",
    "pipenv run python server.py",
    "rye run serve",
    ".venv/bin/python -m app",
    ".venv/bin/acme-server",
    "docker compose run --rm server",
    "docker compose up server",
    "docker-compose run server",
    "podman compose run server",
    "docker build -q .",
    "docker run --env-file ./.env acme/server",
    "cargo run",
    "cargo run --release --bin server",
    "cargo run --manifest-path=./Cargo.toml",
    "go run .",
    "go run ./cmd/server",
    "dotnet run",
    "dotnet run --project .",
    "dotnet ./server.dll",
    "java -jar server.jar",
    "java -cp app.jar com.example.Server",
    "gradle run",
    "./gradlew run",
    "mvn exec:java",
    "mvn -q spring-boot:run",
    "./mvnw spring-boot:run",
    "make serve",
    "make -s serve",
    "gmake serve",
    "make -f ./other.mk serve",
    "just",
    "just serve",
    "task serve",
    "go-task serve",
    "nix run",
    "nix run .#server",
    "nix develop -c node server.js",
    "nix-shell --run server",
    "mise exec -- server",
    "mise run serve",
    "asdf exec server",
    "direnv exec . server",
    "bundle exec rake serve",
    "composer run serve",
    "sh script.sh",
    "bash ./script.sh",
    "bash -c 'npm start'",
    "sh -c 'exec node server.js'",
    "sh -c 'cd . && make serve'",
    "bash -lc 'just serve'",
    "./script.sh",
    "${HOST_PLUGIN_ROOT}/script.sh",
    "env X=1 node server.js",
    "env X=1 npm start",
    "env -S npx -y @acme/server",
    "setsid npm start",
    "stdbuf -oL npm start",
    "nice -n 5 npm start",
    "timeout 60 npm start",
    "nohup npm start",
    "xvfb-run npm start",
    "dotenv -- npm start",
    "dotenv -e .env -- node server.js",
    "op run -- npm start",
    "op run --env-file=.env -- npm start",
    "doppler run -- npm start",
    "infisical run -- npm start",
    "sops exec-env ./secrets.yaml 'npm start'",
    "aws-vault exec team -- npm start",
    "chamber exec team -- npm start",
    "sudo -u mcp npm start",
    "time npm start",
    "strace -f npm start",
    "script -qc 'npm start'",
    "ssh localhost make serve",
    "concurrently npm:start",
    "pm2-runtime server.js",
    "supergateway --stdio 'npx -y @acme/server'",
    "mcp-proxy -- npx -y @acme/server",
    "R -s -f server.R",
    "lua server.lua",
    "electron ./dist/index.js",
    "wasmtime ./server.wasm",
    "julia --project=. server.jl",
    "php -S localhost:8000 ./server.php",
    "ruby -rbundler/setup server.rb",
    "perl -Ilib server.pl",
    "python -X dev server.py",
    "python -c 'import app'",
    "docker exec -i server node /app/index.js",
    "zig build run",
    "python app",
    "python3 -m app.server",
    "python -m app",
    "node inspect server",
    "node dist",
    "node .",
    "node server",
  ],
  named: [
    "node --run start",
    "node -e 'require(process.cwd())'",
    "docker run -i --rm acme/server",
    "docker run -i --rm -v .:/app acme/server",
    "podman run -i acme/server",
    "nerdctl run -i acme/server",
    "setsid acme-server",
    "op run -- acme-server",
    "dotenv -- acme-server",
    "acme-server",
    "/usr/local/bin/acme-server --stdio",
    "bazel run //server",
    "rails mcp",
    "mix run",
    "sbt run",
    "lein run",
    "stack run",
    "dune exec server",
    "swift run",
    "flutter run",
    "php artisan mcp:serve",
    "conda run -n team server",
    "micromamba run -n team server",
    "pixi run serve",
    "devbox run serve",
    "flox activate -- server",
    "guix shell -- server",
    "sh -c acme-server",
    "${RUNNER} start",
    "${RUNNER:-acme-server} start",
  ],
};

const scripts =
  "server.js server.ts server.py server.pl server.rb server.php server.dll server.jar app.jar server.R server.lua server.wasm server.jl hook.js " +
  "script.sh other.mk secrets.yaml dist/index.js app/__main__.py app/server.py app/__init__.py cmd/server/main.go src/main.rs lib/a.js";
const manifests =
  "package.json package-lock.json .npmrc deno.json nx.json turbo.json pyproject.toml uv.lock poetry.lock Makefile justfile Taskfile.yml Cargo.toml " +
  "Cargo.lock go.mod global.json build.gradle gradlew mvnw pom.xml compose.yaml Dockerfile .env flake.nix shell.nix mise.toml .tool-versions .envrc " +
  "Gemfile composer.json node_modules/@acme/server/package.json node_modules/.bin/acme-server .venv/bin/python .venv/bin/acme-server";

async function writeProject({ path, write }: TestFolder, content: string): Promise<void> {
  for (const name of `${scripts} ${manifests}`.split(" ")) await write(name, `${content}\n`, 0o755);
  for (const name of ["bin/server", "target/release/server"]) {
    await write(name, "", 0o755);
    await copyFile("/bin/true", join(path, name));
    await writeFile(join(path, name), content, { flag: "a" });
  }
}

function entryOfLine(line: string): ReturnType<typeof entryOf> {
  const [command, ...args] = [...line.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
  return entryOf({ command, args });
}

test("[TS-D-TRUST-3] no launch line stays approved without a word after all files of its project were replaced", async () => {
  const folder = await createFolder();
  const lines = Object.values(launchLines).flat();
  const evaluate = async (line: string): Promise<{ readonly digest: string; readonly isNamed: boolean }> => {
    const entry = entryOfLine(line);
    const fingerprint = await fingerprintEntry(entry, { pluginRoot: folder.path });
    const { notices } = describeForApproval(entry, fingerprint);
    return {
      digest: fingerprint.digest,
      isNamed: notices.some((each) => each.includes("does not cover the code that")),
    };
  };
  await writeProject(folder, "1");
  const before = await Promise.all(lines.map(evaluate));
  for (const name of await readdir(folder.path)) await rm(join(folder.path, name), { recursive: true });
  await writeProject(folder, "2");
  const after = await Promise.all(lines.map(evaluate));
  const outcomes: Record<Outcome | "silent", string[]> = {
    covered: [],
    named: [],
    "covered and named": [],
    silent: [],
  };
  for (const [index, line] of lines.entries()) {
    const isVoid = before[index]?.digest !== after[index]?.digest;
    const isNamed = before[index]?.isNamed === true;
    outcomes[isVoid ? (isNamed ? "covered and named" : "covered") : isNamed ? "named" : "silent"].push(line);
  }
  expect(outcomes).toEqual({ ...launchLines, silent: [] });
  expect(lines.length).toBeGreaterThanOrEqual(107);
});

test.each([
  ["a variable that makes it load something else", { command: "node", args: ["server.js"], env: { NODE_PATH: "lib" } }],
  ["a file of variables", { command: "node", args: ["server.js"], envFile: ".env" }],
  ["a folder that a variable decides", { command: "node", args: ["server.js"], cwd: "${FOLDER}" }],
  ["a script that a variable decides", { command: "node", args: ["${SCRIPT:-server.js}"] }],
  ["a script elsewhere", { command: "node", args: ["/opt/server.js"] }],
  ["a module with the name of a file", { command: "python3", args: ["-m", "server.py"] }],
  [
    "a secret command that a project decides",
    { command: "node", args: ["server.js"], env: { A: { command: ["make", "x"] } } },
  ],
])("[TS-D-TRUST-2] says that %s is not covered", async (_, entry) => {
  const { path, write } = await createFolder();
  for (const name of ["server.js", "server.py", ".env", "-m"]) await write(name, "1");
  expect((await fingerprintEntry(entryOf(entry), { pluginRoot: path })).uncovered).toHaveLength(1);
});

test("[TS-D-TRUST-2] says once what an approval does not cover, and whether that may be downloaded", async () => {
  const { path } = await createFolder();
  const noticesOf = async (line: string): Promise<readonly string[]> => {
    const entry = entryOfLine(line);
    return describeForApproval(entry, await fingerprintEntry(entry, { pluginRoot: path })).notices;
  };
  expect(await noticesOf("make serve")).toEqual(["This approval does not cover the code that make runs."]);
  expect(await noticesOf("npx -y @acme/server")).toEqual([
    "This approval does not cover the code that npx runs. It may download that code.",
  ]);
});
