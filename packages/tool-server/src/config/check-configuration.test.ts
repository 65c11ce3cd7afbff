import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ToolServerError } from "../errors.js";
import { type CheckOptions, checkConfiguration } from "./check-configuration.js";
import { findConfigurationFile, readConfigurationFile } from "./configuration-file.js";
import { neededVariables, variablesToMarkdown } from "./documentation.js";
import { example, networkEntry, withEntry } from "./examples.test.helper.js";

let root: string;

/** A README that mentions everything that the examples require. */
const readme = "Set API_TOKEN, WORKSPACE_ID, DATABASE_URL, DB_USER, DB_PASSWORD, DB_SCHEMA. Permissions: read.\n";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "tool-server-"));
  await writeFile(join(root, "README.md"), readme);
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

async function codesOf(text: string, options: Partial<CheckOptions> = {}): Promise<string[]> {
  const { findings } = await checkConfiguration(text, { pluginRoot: root, variables: {}, ...options });
  return findings.map(({ severity, code }) => `${severity} ${code}`);
}

function git(...args: string[]): void {
  execFileSync("git", args, { cwd: root, stdio: "pipe" });
}

test("[TS-SEC-1] reports a credential in a comment at its position, without quoting it", async () => {
  const text = `{
  // The old one was ghp_Zk3TqW8xYb5Lm2Nc7Vd9Rf4Gh6Js1Ka0PoQr.
  "notes": { "type": "http", "url": "https://notes.example.com/mcp" }, /* password: see the wiki */
}`;
  const report = await checkConfiguration(text, { pluginRoot: root, variables: {} });
  expect(report.findings).toMatchObject([{ code: "literal-secret", severity: "error", line: 2, column: 22 }]);
  expect(report.findings[0]?.message).toBe("A comment contains what looks like a GitHub token.");
  expect(JSON.stringify(report)).not.toContain("Zk3TqW8x");
});

describe("a helper", () => {
  const script = () => join(root, "scripts", "headers.sh");

  test("[TS-HELPER-1, TS-FIELD-5] accepts a helper that exists and is executable", async () => {
    await mkdir(join(root, "scripts"));
    await writeFile(script(), "#!/bin/sh\n", { mode: 0o755 });
    expect(await codesOf(example("helper"))).toEqual([]);
    expect(await codesOf(withEntry(networkEntry({ headersHelper: "scripts/headers.sh" })))).toEqual([]);
    expect(await codesOf(example("helper"), { variables: undefined })).toEqual([]);
  });

  test("[TS-HELPER-1] reports a helper that is missing, a directory or not executable", async () => {
    expect(await codesOf(example("helper"))).toEqual(["error helper-missing"]);
    expect(await codesOf(example("helper"), { variables: undefined })).toEqual(["error helper-missing"]);
    await mkdir(script(), { recursive: true });
    expect(await codesOf(example("helper"))).toEqual(["error helper-missing"]);
    await rm(script(), { recursive: true });
    await writeFile(script(), "", { mode: 0o644 });
    expect(await codesOf(example("helper"))).toEqual(["error helper-not-executable"]);
  });

  test("reports a helper with arguments, with a fix", async () => {
    await mkdir(join(root, "scripts"));
    await writeFile(script(), "#!/bin/sh\n", { mode: 0o755 });
    const text = withEntry(networkEntry({ headersHelper: "scripts/headers.sh --verbose" }));
    const { findings } = await checkConfiguration(text, { pluginRoot: root, variables: {} });
    expect(findings).toMatchObject([
      { code: "helper-missing", fix: expect.stringContaining("a script without arguments") },
    ]);
  });

  test("reports a helper with Windows line endings", async () => {
    await mkdir(join(root, "scripts"));
    await writeFile(script(), "#!/bin/sh\r\necho\r\n", { mode: 0o755 });
    const { findings } = await checkConfiguration(example("helper"), { pluginRoot: root, variables: {} });
    expect(findings).toMatchObject([{ code: "helper-not-executable", fix: expect.stringContaining("CRLF") }]);
    // The path is complete, so that the command works in any folder.
    expect(findings[0]?.fix).toContain(`sed -i.bak 's/\\r$//' ${script()};`);
  });

  test("[TS-D-SEC-3] runs neither the helper nor the command of an entry", async () => {
    await mkdir(join(root, "scripts"));
    await writeFile(script(), `#!/bin/sh\ntouch ${root}/ran\n`, { mode: 0o755 });
    await codesOf(example("helper"));
    await codesOf(withEntry({ command: script() }));
    expect(await readdir(root)).toEqual(["README.md", "scripts"]);
  });
});

test("[TS-D-STDIO-2] adds a note to an entry that turns the sandbox off", async () => {
  const variables = { PATH: process.env.PATH };
  const codes = (sandbox: unknown): Promise<string[]> =>
    codesOf(withEntry({ command: "node", sandbox }), { variables });
  expect(await codes(false)).toEqual(["note sandbox-off"]);
  const network = { type: "http", url: "https://notes.example.com/mcp", sandbox: false };
  expect(await codesOf(withEntry({ ...network, headersHelper: "./x.sh" }), { variables })).toContain(
    "note sandbox-off",
  );
  expect(await codesOf(withEntry(network), { variables })).toContain("note field-misplaced");
  expect(await codes(true)).toEqual([]);
  expect(await codes("no")).toEqual(["error field-type"]);
});

test("warns about a command that cannot be found, even if there are other problems", async () => {
  const variables = { PATH: root };
  expect(await codesOf(withEntry({ command: "node server.js", wibble: "x" }), { variables })).toEqual([
    "warning command-not-found",
    "note field-unknown",
  ]);
  await writeFile(join(root, "tool"), "#!/bin/sh\n", { mode: 0o755 });
  expect(await codesOf(withEntry({ command: "tool" }), { variables })).toEqual([]);
  await chmod(join(root, "tool"), 0o644);
  expect(await codesOf(withEntry({ command: "./tool" }), { variables })).toEqual(["warning command-not-found"]);
});

describe("an environment file", () => {
  const text = example("oauth");

  test("[TS-STDIO-3] warns about an environment file that no .gitignore lists, unless it is an example file", async () => {
    git("init", "--quiet");
    await writeFile(join(root, ".env"), "A=1\n");
    await writeFile(join(root, ".env.example"), "A=\n");
    expect(await codesOf(text)).toEqual(["warning env-file-not-ignored"]);
    await writeFile(join(root, ".gitignore"), ".env\n");
    expect(await codesOf(text)).toEqual([]);
  });

  test("[TS-STDIO-3] warns about an environment file that git tracks, even if .gitignore lists it, until the advice is followed", async () => {
    git("init", "--quiet");
    const name = ".env.$(touch ran)";
    await writeFile(join(root, name), "A=1\n");
    await writeFile(join(root, ".gitignore"), ".env.*\n");
    git("add", "--force", name);
    const { findings } = await checkConfiguration(text, { pluginRoot: root, variables: {} });
    expect(findings).toMatchObject([{ code: "env-file-tracked", severity: "warning", file: join(root, name) }]);
    const [, command = ""] = /Run (git .*), commit that/.exec(findings[0]?.fix ?? "") ?? [];
    execFileSync("sh", ["-c", command], { cwd: tmpdir(), stdio: "pipe" });
    expect(await codesOf(text)).toEqual([]);
    expect(await readdir(root)).not.toContain("ran");
  });

  test("[TS-STDIO-3] gives advice about git and .gitignore if git tracks an environment file and no .gitignore lists it", async () => {
    git("init", "--quiet");
    await writeFile(join(root, ".env"), "A=1\n");
    git("add", ".env");
    const { findings } = await checkConfiguration(text, { pluginRoot: root, variables: {} });
    expect(findings).toMatchObject([
      { code: "env-file-tracked", fix: expect.stringMatching(/^Add \.env to \.gitignore\. Run git /) },
    ]);
  });

  test("[TS-STDIO-3] checks an environment file given with --env-file, wherever it is", async () => {
    git("init", "--quiet");
    await mkdir(join(root, "deploy"));
    const file = join(root, "deploy", "production.vars");
    await writeFile(file, "A=1\n");
    expect(await codesOf(text, { envFiles: [file] })).toEqual(["warning env-file-not-ignored"]);
  });

  test("reports no environment file outside a git repository", async () => {
    await writeFile(join(root, ".env"), "A=1\n");
    expect(await codesOf(text)).toEqual([]);
  });

  test("reports an envFile that cannot be read or has wrong lines, until the advice is followed", async () => {
    const text = withEntry({ command: process.execPath, envFile: "my.env" });
    const file = join(root, "my.env");
    const check = () => checkConfiguration(text, { pluginRoot: root, variables: {} });
    expect((await check()).findings).toMatchObject([
      {
        code: "env-file-unreadable",
        severity: "error",
        server: "s",
        path: ["mcpServers", "s", "envFile"],
        message: `${file} cannot be read: the file does not exist.`,
        fix: "Create the file or make it readable, or correct envFile in the entry.",
      },
    ]);
    await writeFile(file, Buffer.from("A=1\n", "utf16le"));
    expect((await check()).findings).toMatchObject([{ fix: expect.stringMatching(/^Save it as UTF-8/) }]);
    await writeFile(file, "A=1\nhunter2\n");
    expect((await check()).findings).toMatchObject([{ code: "env-file-syntax", file, line: 2 }]);
    // The lines of a file that is given with --env-file are reported where that is read.
    expect(await codesOf(text, { envFiles: [file] })).toEqual([]);
    expect(await codesOf(text, { variables: undefined })).toEqual([]);
    await writeFile(file, "A=1\n");
    expect((await check()).findings).toEqual([]);
  });

  test("[TS-D-SUB-8] does not load an environment file just because it exists", async () => {
    await writeFile(join(root, ".env"), "API_TOKEN=abc\n");
    expect(await codesOf(example("bearer"))).toEqual(["error variable-unset"]);
  });

  test("[TS-D-SEC-3] checks environment files without running programs that the repository configures", async () => {
    git("init", "--quiet");
    await mkdir(join(root, "folder", "inner"), { recursive: true });
    await writeFile(join(root, "folder", "inner", "file"), "1\n");
    git("add", ".");
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a");
    const tree = execFileSync("git", ["rev-parse", "HEAD:folder"], { cwd: root, encoding: "utf8" }).trim();
    git("sparse-checkout", "set", "--cone", "--sparse-index");
    await rm(join(root, ".git", "objects", tree.slice(0, 2), tree.slice(2)));
    // The index now refers to a tree that git would fetch from the remote, by a program of the repository's choice.
    git("config", "core.repositoryFormatVersion", "1");
    git("config", "extensions.partialClone", "origin");
    git("config", "remote.origin.url", ".");
    git("config", "remote.origin.uploadPack", `touch '${root}/ran'; false`);
    await writeFile(join(root, ".env"), "A=1\n");
    expect(await codesOf(text)).toEqual(["warning env-file-not-ignored"]);
    expect(await readdir(root)).not.toContain("ran");
  });

  test("[TS-D-SEC-3] checks environment files without running git", async () => {
    git("init", "--quiet");
    await mkdir(join(root, "bin"));
    await writeFile(join(root, "bin", "git"), `#!/bin/sh\n: > '${root}/ran'\n`, { mode: 0o755 });
    await writeFile(join(root, ".env"), "A=1\n");
    vi.stubEnv("PATH", join(root, "bin"));
    try {
      await codesOf(text);
    } finally {
      vi.unstubAllEnvs();
    }
    expect(await readdir(root)).not.toContain("ran");
  });
});

describe("a README.md", () => {
  const refuses = async (): Promise<void> => {
    expect(await codesOf(example("bearer"), { variables: undefined })).toEqual(["warning readme-missing"]);
  };

  beforeEach(() => rm(join(root, "README.md")));

  test("[TS-SEC-4] reports a missing README as a warning if the servers need variables, and as a note otherwise", async () => {
    await refuses();
    expect(await codesOf(example("oauth"), { variables: undefined })).toEqual(["note readme-missing"]);
    expect(await codesOf('{"mcpServers": {}}', { variables: undefined })).toEqual(["warning file-shape"]);
    await writeFile(join(root, "readme.rst"), readme);
    expect(await codesOf(example("bearer"), { variables: undefined })).toEqual([]);
  });

  test("[TS-SEC-4] accepts variables that the README or the docs mention, and ignores other files", async () => {
    await writeFile(join(root, "README.md"), "Permissions: read.\n");
    await writeFile(join(root, "CHANGELOG.md"), "API_TOKEN is new.\n");
    expect(await codesOf(example("bearer"), { variables: undefined })).toEqual(["warning variable-undocumented"]);
    await mkdir(join(root, "docs", "setup"), { recursive: true });
    await writeFile(join(root, "docs", "setup", "variables.md"), "Set API_TOKEN.\n");
    expect(await codesOf(example("bearer"), { variables: undefined })).toEqual([]);
  });

  test("does not wait for a README that is a pipe", async () => {
    execFileSync("sh", ["-c", 'mkfifo "$0"', join(root, "README.md")]);
    await refuses();
  });

  test("reads a README through a link only if the target is inside the project", async () => {
    const outside = await mkdtemp(join(tmpdir(), "tool-server-outside-"));
    try {
      await writeFile(join(outside, "README.md"), readme);
      await symlink(join(outside, "README.md"), join(root, "README.md"));
      await refuses();
      await rm(join(root, "README.md"));
      await writeFile(join(root, "about.md"), readme);
      await symlink("about.md", join(root, "README.md"));
      expect(await codesOf(example("bearer"), { variables: undefined })).toEqual([]);
    } finally {
      await rm(outside, { recursive: true });
    }
  });

  test("does not read a README that is a link to a device, or too large", async () => {
    await symlink("/dev/zero", join(root, "README.md"));
    await refuses();
    await rm(join(root, "README.md"));
    await writeFile(join(root, "README.md"), "x");
    await truncate(join(root, "README.md"), 2 ** 31);
    await refuses();
  });
});

test("checks only the file if no variables are given", async () => {
  expect(await codesOf(example("bearer"))).toEqual(["error variable-unset"]);
  expect(await codesOf(example("bearer"), { variables: undefined })).toEqual([]);
});

describe("the variables of a project", () => {
  test("[TS-SEC-4] warns about variables that neither the README nor the docs mention", async () => {
    await writeFile(join(root, "README.md"), "Set `API_TOKEN`. Not WORKSPACE_IDS. It needs the permission to read.\n");
    const { findings } = await checkConfiguration(example("tenant-by-header"), {
      pluginRoot: root,
      variables: undefined,
    });
    expect(findings).toMatchObject([
      {
        code: "variable-undocumented",
        severity: "warning",
        message: "Neither the README nor the docs mention WORKSPACE_ID.",
      },
    ]);
  });

  test("[TS-SEC-4] warns about each variable that is not mentioned, once", async () => {
    await writeFile(join(root, "README.md"), "It needs the permission to read.\n");
    const one = { type: "http", url: "https://a.example.com", headers: { "X-A": "${A_ID}", "X-B": "${B_ID}${A_ID}" } };
    const text = JSON.stringify({ mcpServers: { one, two: one } });
    const { findings } = await checkConfiguration(text, { pluginRoot: root, variables: undefined });
    expect(findings.map(({ message }) => message)).toEqual([
      "Neither the README nor the docs mention A_ID.",
      "Neither the README nor the docs mention B_ID.",
    ]);
  });

  test("[TS-SEC-4] formats the variables as a table for the README, by server and field", async () => {
    const { uses } = await checkConfiguration(example("stdio-env"), { pluginRoot: root, variables: undefined });
    expect(variablesToMarkdown(neededVariables(uses))).toEqual([
      "| Variable       | Server   | Field              | Needed   | Kind   |",
      "| -------------- | -------- | ------------------ | -------- | ------ |",
      "| `DB_SCHEMA`    | database | `args[2]`          | optional |        |",
      "| `DATABASE_URL` | database | `env.DATABASE_URL` | required | secret |",
      "| `DB_USER`      | database | `env.DB_USER`      | required |        |",
      "| `DB_PASSWORD`  | database | `env.DB_PASSWORD`  | required | secret |",
    ]);
  });
});

describe("the file", () => {
  test("[TS-D-FILE-2] finds .mcp.json in the given root, or in a parent folder up to the repository root", async () => {
    const below = join(root, "a", "b");
    await mkdir(below, { recursive: true });
    await writeFile(join(root, ".mcp.json"), "{}");
    await expect(findConfigurationFile(below)).rejects.toThrow(`No .mcp.json found in ${below}.`);
    expect(await findConfigurationFile(below, root)).toBe(join(root, ".mcp.json"));
    git("init", "--quiet");
    expect(await findConfigurationFile(below)).toBe(join(root, ".mcp.json"));
  });

  test("reports why the file cannot be read", async () => {
    const file = join(root, ".mcp.json");
    const failure = async (): Promise<string> => {
      const error = await readConfigurationFile(file).catch((reason: unknown) => reason);
      expect(ToolServerError.is(error, "CONFIGURATION_UNREADABLE")).toBe(true);
      return String(error);
    };
    expect(await failure()).toContain("the file does not exist");
    await writeFile(file, Uint8Array.of(0x7b, 0xff, 0x7d));
    expect(await failure()).toContain("it is not UTF-8");
    for (const mark of ["\ufeff", ""]) {
      await writeFile(file, Buffer.from(`${mark}{}`, "utf16le"));
      expect(await failure()).toContain("it is UTF-16");
    }
    const converted = execFileSync("sh", ["-c", "iconv -f UTF-16 -t UTF-8"], {
      input: Buffer.from("\ufeff{}", "utf16le"),
    });
    await writeFile(file, converted);
    expect(await readConfigurationFile(file)).toBe("{}");
    await writeFile(file, "x".repeat(4 * 1_048_576 + 1));
    expect(await failure()).toContain("exceeds the limit of 4194304 bytes");
    await rm(file);
    await mkdir(file);
    expect(await failure()).toContain("it is not a regular file");
  });
});
