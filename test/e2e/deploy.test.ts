import { execFileSync, spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readPolicy } from "@wirescope/tool-server";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { program, runCommand } from "./command.test.helper.js";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const deploy = join(root, "deploy");
const read = (path: string): string => readFileSync(join(deploy, path), "utf8");
const systemUnit = "systemd/wirescope.service";
const userUnit = "systemd/user/wirescope.service";
let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-deploy-")));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** The instructions of the Dockerfile, in order, each as its name and what follows. */
function instructions(): { readonly name: string; readonly rest: string }[] {
  const text = read("Dockerfile")
    .replace(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ");
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => ({ name: line.split(" ", 1)[0] ?? "", rest: line.slice(line.indexOf(" ") + 1).trim() }));
}

const wordsOf = (name: string): string[] =>
  JSON.parse((instructions().findLast((one) => one.name === name)?.rest ?? "").replace(/^[^[]*/, ""));

describe("the Dockerfile", () => {
  const last = (name: string): string => instructions().findLast((one) => one.name === name)?.rest ?? "";

  test("copies only files that exist and that .dockerignore allows", () => {
    const allowed = read(".dockerignore")
      .split("\n")
      .flatMap((line) => /^!(.+)/.exec(line)?.[1] ?? []);
    const copies = instructions()
      .filter(({ name }) => name === "COPY")
      .flatMap(({ rest }) => rest.split(/ +/).slice(0, -1));
    expect(copies).toEqual(["healthcheck.mjs"]);
    for (const source of copies) {
      expect(existsSync(join(deploy, source)), source).toBe(true);
      expect(allowed, source).toContain(source);
    }
  });

  test("installs the version of this checkout, as compose and the workflow do", () => {
    const { name, version, bin } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
    expect(last("ARG")).toBe(`WIRESCOPE=${name}@${version}`);
    expect(read("compose.yaml")).toContain(`WIRESCOPE: \${WIRESCOPE:-${name}@${version}}`);
    expect(Object.keys(bin)).toContain(wordsOf("ENTRYPOINT")[0]);
    for (const file of ["Dockerfile", "README.md"]) expect(read(file)).toContain(`./${name}-${version}.tgz`);
  });

  test("runs as an unprivileged user on the default port, and contains no secret", () => {
    expect(last("USER")).toBe("node");
    expect(last("EXPOSE")).toBe("4690");
    expect(last("ENV")).not.toMatch(/TOKEN|KEY|PASS|SECRET/);
  });

  test("reads its secrets under the names that compose mounts them as", () => {
    const secrets = wordsOf("CMD").flatMap((word) => /^\/run\/secrets\/(.+)/.exec(word)?.[1] ?? []);
    const compose = read("compose.yaml");
    expect(secrets).toEqual(["token", "tls-cert", "tls-key"]);
    for (const name of [...secrets, "vault-key"]) expect(compose).toMatch(new RegExp(`^ {2}${name}:\n {4}file: `, "m"));
    expect(existsSync(join(deploy, /- \.\/(\w+):\/etc\/wirescope:ro/.exec(compose)?.[1] ?? "none"))).toBe(true);
  });
});

describe("the release workflow", () => {
  const workflow = readFileSync(join(root, ".github/workflows/release.yml"), "utf8");

  /** What the step with this id sets, if the repository and the tag are these. */
  function outputsOf(id: string, variables: Readonly<Record<string, string>>): Record<string, string> {
    const step = new RegExp(`^ +id: ${id}\n +run: \\|\n((?: {10}.*\n)+)`, "m").exec(workflow)?.[1] ?? "exit 1";
    const file = join(folder, "outputs");
    execFileSync("bash", ["-ec", step], { env: { PATH: process.env.PATH, GITHUB_OUTPUT: file, ...variables } });
    return Object.fromEntries(
      readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => line.split("=", 2)),
    );
  }

  test("builds the image of the version of the tag, under a name that a registry accepts", () => {
    const outputs = outputsOf("image", { GITHUB_REPOSITORY: "Some-Team/WireScope", GITHUB_REF_NAME: "v12.3.4" });
    const filled = workflow.replace(/\$\{\{ steps\.image\.outputs\.(\w+) \}\}/g, (_, name) => outputs[name] ?? "");
    const argument = instructions()
      .find(({ name }) => name === "ARG")
      ?.rest.split("@", 1)[0];
    expect(filled).toContain(`build-args: ${argument}@12.3.4\n`);
    const tags = /tags: \|\n((?: {12}.*\n)+)/.exec(filled)?.[1]?.replaceAll(" ", "");
    expect(tags).toMatch(/^ghcr\.io\/some-team\/wirescope:\S+\nghcr\.io\/some-team\/wirescope:latest\n$/);
  });

  test("runs only scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const named = [...workflow.matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name);
    expect(named).not.toEqual([]);
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
    const programs = [...workflow.matchAll(/run: (\.\S+|\w+\/\S+)$/gm)].map(([, path = ""]) => path);
    expect(programs).toEqual([".ci/run"]);
    for (const path of programs) accessSync(join(root, path), constants.X_OK);
  });
});

/** The command of a unit, with systemd's specifiers expanded. */
function commandOf(unit: string): string[] {
  const line = /^ExecStart=(.+)$/m.exec(read(unit))?.[1] ?? "";
  const places: Record<string, string> = { "%d": "/run/secrets", "%L": "/var/log", "%h": folder };
  return line.replace(/%[dLh]/g, (letter) => places[letter] ?? letter).split(" ");
}

/** The files of the machine or the image, in the folder of the test. */
function prepare(words: readonly string[]): string[] {
  for (const place of ["etc/wirescope", "run/secrets", "var/log/wirescope"])
    mkdirSync(join(folder, place), { recursive: true });
  const put = (path: string, text: string): void => writeFileSync(join(folder, path), text, { mode: 0o600 });
  put("etc/wirescope/mcp.json", '{"mcpServers": {}}');
  for (const name of ["gateway.json", "policy.json"])
    copyFileSync(join(deploy, "etc", name), join(folder, "etc/wirescope", name));
  put("run/secrets/token", "a-token-of-the-machine\n");
  for (const [name, file] of [
    ["tls-cert", "server"],
    ["tls-key", "server-key"],
  ] as const) {
    put(`run/secrets/${name}`, readFileSync(join(root, `test/certificates/${file}.pem`), "utf8"));
  }
  return words.map((word) => {
    return /^\/(?:etc|run|var)\//.test(word) ? join(folder, word) : word;
  });
}

test.each([
  ["the image", () => ["node", program, ...wordsOf("CMD")]],
  ["the unit of the machine", () => ["node", program, ...commandOf(systemUnit).slice(1)]],
])("starts a healthy gateway with %s that requires its token and ends on SIGTERM", async (_, command) => {
  const [, ...words] = prepare(command());
  const env = { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: join(folder, "etc"), XDG_RUNTIME_DIR: folder };
  const run = startProcess(process.execPath, [...words, "--port", "0", "--json"], { env, cwd: folder });
  const { endpoint } = JSON.parse(await untilPrinted(run, /\n/));
  const [, ...check] = wordsOf("HEALTHCHECK").map((word) => word.replace("/opt/wirescope", deploy));
  const health = (path: string): number | null =>
    spawnSync(process.execPath, [...check, endpoint.replace("/mcp", path)]).status;
  expect(health("/healthz")).toBe(0);
  // A request without the token does not get 200.
  expect(health("/metrics")).toBe(1);
  run.process.kill("SIGTERM");
  expect(await run.ended).toBe(0);
  expect(health("/healthz")).toBe(1);
});

test("contains valid examples of configuration, settings and policy", async () => {
  const env = { PATH: process.env.PATH };
  const { code, stdout } = await runCommand(["check", "--file-only", join(deploy, "etc/mcp.json")], { env });
  expect(code, stdout).toBe(0);
  const policy = join(folder, "policy.json");
  writeFileSync(policy, read("etc/policy.json"), { mode: 0o600 });
  expect(await readPolicy(policy)).toMatchObject({ others: "deny" });
});

const systemd = systemdVersion();
if (systemd < 250)
  console.warn("The units are not verified here: there is no systemd-analyze of systemd 250 or later.");

function systemdVersion(): number {
  try {
    const text = execFileSync("systemd-analyze", ["--version"], { encoding: "utf8", stdio: "pipe" });
    return Number(/^systemd (\d+)/.exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

describe.skipIf(systemd < 250)("systemd", () => {
  /** The unit with a command that exists, because the tool checks that. */
  const unitFile = (unit: string): string => {
    const file = join(folder, unit);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, read(unit).replace("/usr/local/bin/wirescope", "/bin/true"));
    return file;
  };
  const analyze = (...argv: string[]): { status: number | null; output: string } => {
    const { status, stdout, stderr } = spawnSync("systemd-analyze", argv, {
      encoding: "utf8",
      env: { ...process.env, XDG_RUNTIME_DIR: folder, HOME: folder },
    });
    return { status, output: stdout + stderr };
  };

  test.each([
    [systemUnit, []],
    [userUnit, ["--user"]],
  ])("reports no problem with %s", (unit, options) => {
    expect(analyze("verify", "--man=no", ...options, unitFile(unit))).toEqual({ status: 0, output: "" });
  });

  test("rates the unit of the machine as low exposure", () => {
    const { status, output } = analyze(
      "security",
      "--no-pager",
      "--offline=true",
      "--threshold=20",
      unitFile(systemUnit),
    );
    expect(status, output).toBe(0);
  });

  test("reports a mistake in the unit", () => {
    const file = unitFile(systemUnit);
    writeFileSync(file, readFileSync(file, "utf8").replace("ProtectSystem=strict", "ProtectSystem=perhaps"));
    expect(analyze("verify", "--man=no", file).output).toContain("perhaps");
  });
});
