import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type CheckOptions, checkConfiguration } from "./check-configuration.js";
import { networkEntry, withEntry } from "./examples.test.helper.js";

const token = "q7Zp2LxV9bTn4RkW8sYd3Hf6";
const value = "correct-horse-9-battery";
let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "wirescope-credentials-")));
  onTestFinished(() => rm(root, { recursive: true }));
  await write("README.md", "Set API_TOKEN. Permissions: read.\n");
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

function git(...args: string[]): void {
  execFileSync("git", args, { cwd: root, stdio: "pipe" });
}

const bearer = withEntry(networkEntry({ headers: { Authorization: "Bearer ${API_TOKEN}" } }));

/** The findings about credentials, as `docs/a.md:3 code message`. */
async function found(text = bearer, options: Partial<CheckOptions> = {}): Promise<string[]> {
  const variables = { API_TOKEN: value };
  const { findings } = await checkConfiguration(text, { pluginRoot: root, variables, ...options });
  expect(JSON.stringify(findings)).not.toContain(value);
  expect(JSON.stringify(findings)).not.toContain(token);
  return findings
    .filter(({ code }) => /^credential-|^env-file-/.test(code))
    .map(({ file = "", line, code, message }) => `${file.replace(`${root}/`, "")}:${line} ${code} ${message}`);
}

describe("documentation files", () => {
  test("[TS-SEC-9] rejects documentation that contains the value of a variable, plain or encoded", async () => {
    await write("README.md", `API_TOKEN, permissions\n\nexport API_TOKEN=${value}\n`);
    await write("docs/deep/er/use.md", `Authorization: Basic ${Buffer.from(`me:${value}`).toString("base64")}\n`);
    await write("CHANGELOG.md", `- the old token was ${value.toUpperCase()}\n`);
    await write("src/notes.md", value);
    const holds = "credential-in-documentation This file contains the value of API_TOKEN.";
    expect(await found()).toEqual([
      `CHANGELOG.md:1 ${holds}`,
      `docs/deep/er/use.md:1 ${holds}`,
      `README.md:3 ${holds}`,
    ]);
    await rm(join(root, "docs"), { recursive: true });
    expect(await found(bearer, { variables: undefined })).toEqual([]);
  });

  test.each([
    [`export GITHUB_TOKEN=ghp_${token}`, "a GitHub token"],
    [`    "Authorization": "Bearer ${token}"`, "a random key"],
    [`curl -H 'X-API-Key: ${token}' https://api.example.com`, "a random key"],
    [`API_TOKEN=${token}`, "a random key"],
    [`export API_TOKEN=${token}`, "a random key"],
    [`Run \`docker run -e API_TOKEN="${token}" acme/server\`.`, "a random key"],
    [`| \`a\` |API_TOKEN=${token}|`, "a random key"],
    [`<code>API_TOKEN=${token}</code>`, "a random key"],
    [`docker run --env=API_TOKEN=${token} acme/server`, "a random key"],
    [`$ API_SECRET=9f86d081884c7d659a2feaa0c55ad015 npx @acme/server`, "a random key"],
    [`FIGMA=figd_${token}-_${token}`, "a Figma token"],
    [`tvly-dev-${token}`, "a Tavily key"],
    [`ATATT3xFfGF0${token}=5B1F0C42`, "an Atlassian token"],
    [`ATCTT3xFfGF0${token}=5B1F0C42`, "an Atlassian token"],
    ["postgres://app:hunter22x@db.example.com/app", "a password in a URL"],
    [`-----BEGIN PRIVATE KEY-----\n${token}${token}`, "a private key"],
    [
      `${Buffer.from('{"alg":"HS256"}').toString("base64url")}.${Buffer.from('{"sub":"u-7731","aud":"crm"}').toString("base64url")}.c2lnbmF0dXJl`,
      "a JSON Web Token",
    ],
  ])(
    "[TS-SEC-9] rejects documentation that contains something that looks like a credential: %s",
    async (line, kind) => {
      await write("docs/use.md", `# Use\n\n${line}\n`);
      expect(await found(bearer, { variables: undefined })).toEqual([
        `docs/use.md:3 credential-in-documentation This file contains what looks like ${kind}.`,
      ]);
    },
  );

  test.each([
    "export API_TOKEN=your-token-here",
    "export API_TOKEN=<API_TOKEN> OTHER=${API_TOKEN} X=xxx Y=$TOKEN Z=changeme",
    "API_TOKEN=<your token> and API_TOKEN=xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "export API_TOKEN=$API_TOKEN_FROM_YOUR_PASSWORD_MANAGER_2",
    'API_TOKEN=${API_TOKEN} API_TOKEN="${{ secrets.API_TOKEN }}" API_TOKEN=changeme',
    "API_TOKEN=YOUR_API_TOKEN_FROM_THE_SETTINGS_PAGE_1234",
    "API_TOKEN=the-token-that-you-copied-from-the-settings",
    `BUILD=${token} and [badge](https://ci.example.com/badge.svg?token=${token})`,
    "figd_your-token, tvly-YOUR_API_KEY and ATATT3xFfGF0...",
    "tvly-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and figd_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=ghp_YourGitHubTokenGoesHere1234",
    "OPENAI_API_KEY=sk-your-key-goes-right-here",
    "OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwxyz123456",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "postgres://user:password@localhost:5432/db",
    "postgresql://postgres:postgres123@localhost/db and https://user:pass@example.com",
    "-----BEGIN PRIVATE KEY-----\nMIIE...\n-----END PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "Release GPG key: F3EF5F62A87FC27A22E643F714CE4FF5015AA242",
    `commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b, checksum sha512-${token}${token}`,
    `![build](https://img.example.com/${token}.svg) and the id ${token}`,
    "The password is stored by your keychain; the token expires after 3600 seconds.",
  ])("[TS-SEC-9] accepts placeholders, examples and identifiers in documentation: %s", async (line) => {
    await write("docs/use.md", `${line}\n`);
    expect(await found(bearer, { variables: undefined })).toEqual([]);
  });

  test("[TS-SEC-9] accepts documentation that contains a value that is too short, too common, or a placeholder", async () => {
    await write("docs/use.md", "the postgres database, secret1, your-token-here, https://api.example.com\n");
    for (const API_TOKEN of ["postgres", "secret1", "your-token-here", "https://api.example.com"]) {
      expect(await found(bearer, { variables: { API_TOKEN } })).toEqual([]);
    }
  });

  test("[TS-D-SEC-3] reads documentation only up to the limits and inside the project", async () => {
    const outside = await mkdtemp(join(tmpdir(), "wirescope-outside-"));
    onTestFinished(() => rm(outside, { recursive: true }));
    await writeFile(join(outside, "a.md"), value);
    await mkdir(join(root, "docs"));
    await symlink(join(outside, "a.md"), join(root, "docs", "link.md"));
    await symlink(outside, join(root, "docs", "folder"));
    await symlink("/dev/zero", join(root, "docs", "zero.md"));
    execFileSync("sh", ["-c", 'mkfifo "$0"', join(root, "docs", "pipe.md")]);
    await write("docs/large.md", value);
    await truncate(join(root, "docs/large.md"), 2 ** 31);
    await write(`docs/${"a/".repeat(10)}deep.md`, value);
    expect(await found()).toEqual([]);
    await write("docs/lines.md", `${value}\n`.repeat(500));
    expect(await found()).toHaveLength(20);
  });
});

describe("files in version control", () => {
  const server = withEntry({
    command: "docker",
    args: ["run", "--env-file", "${HOST_PLUGIN_ROOT}/deploy/production.vars", "image"],
    env: { API_TOKEN: "${API_TOKEN}" },
  });
  const helper = withEntry(networkEntry({ headersHelper: "${HOST_PLUGIN_ROOT}/bin/headers.sh" }));

  beforeEach(() => git("init", "--quiet"));

  test("[TS-SEC-10, TS-STDIO-3] finds environment files of an entry in version control, whatever their name", async () => {
    await write("deploy/production.vars", `LEVEL=info\nexport DB_PASSWORD='hunter22x'\nAPI_TOKEN=${value}\n`);
    const not = "This file is not in .gitignore, and it contains";
    expect(await found(server)).toEqual([
      expect.stringMatching(/^deploy\/production\.vars:1 env-file-not-ignored /),
      `deploy/production.vars:2 credential-in-file ${not} a value for DB_PASSWORD.`,
      `deploy/production.vars:3 credential-in-file ${not} the value of API_TOKEN.`,
    ]);
    await write(".gitignore", "*.vars\n");
    expect(await found(server)).toEqual([]);
    // Files that were added before the rule, or despite it, stay in the repository.
    git("add", "--force", "deploy/production.vars");
    expect(await found(server)).toEqual([
      expect.stringMatching(/^deploy\/production\.vars:1 env-file-tracked Git tracks/),
      expect.stringMatching(/:2 credential-in-file Git tracks this file, and it contains a value for DB_PASSWORD\.$/),
      expect.stringMatching(/:3 credential-in-file Git tracks this file, and it contains the value of API_TOKEN\.$/),
    ]);
  });

  test("[TS-SEC-10] finds a helper in version control that contains a credential, but not one that reads it from elsewhere", async () => {
    await write("bin/headers.sh", `#!/bin/sh\nTOKEN="ghp_${token}"\necho "{}"\n`);
    expect(await found(helper)).toEqual([
      "bin/headers.sh:2 credential-in-file This file is not in .gitignore, and it contains what looks like a GitHub token.",
    ]);
    const clean = [
      'TOKEN="$(cat /run/secrets/token1)"',
      'TOKEN="${API_TOKEN1}"',
      "API_KEY=$KEY2",
      "TOKEN_FILE=/run/a1",
    ];
    await write("bin/headers.sh", `#!/bin/sh\n${clean.join("\n")}\nPASSWORD=your-password-1\n`);
    expect(await found(helper)).toEqual([]);
  });

  test("[TS-SEC-10] finds files in every version of the git index, even if a rule ignores them", async () => {
    await write("bin/headers.sh", `#!/bin/sh\nTOKEN=${value}1\n`);
    for (let count = 0; count < 50; count += 1) await write(`bin/more/file-${count}`, "");
    await write(".gitignore", "bin/\n");
    expect(await found(helper)).toEqual([]);
    git("add", "--force", ".");
    for (const version of ["2", "4"]) {
      git("update-index", "--index-version", version);
      expect(await found(helper), version).toEqual([
        expect.stringContaining("bin/headers.sh:2 credential-in-file Git"),
      ]);
    }
    git("add", "--force", "--intent-to-add", ".");
    await write(".git/index", "DIRC\0\0\0\u0004\u00ff\u00ff\u00ff\u00ff");
    expect(await found(helper)).toEqual([]);
  });

  test("reports no files outside the repository or the project, and no examples", async () => {
    await write("deploy/production.vars", "LEVEL=info\n");
    await write("deploy/production.vars.example", "API_TOKEN=\n");
    await write(".gitignore", "production.vars\n");
    expect(await found(server.replace("production.vars", "production.vars.example"))).toEqual([]);
    await rm(join(root, ".git"), { recursive: true });
    await write("deploy/production.vars", `API_TOKEN=${value}\n`);
    expect(await found(server)).toEqual([]);
  });
});

describe("a hostile repository", () => {
  test.each([
    ["long words before what looks like a key", `${"a".repeat(3000)} ${`${token} `.repeat(40)}`],
    ["beginnings of JSON Web Tokens", "-eyJ".repeat(1000)],
  ])("[TS-SEC-9] checks the documentation of a hostile repository quickly even with %s", async (_, line) => {
    await write("README.md", `${line}\n`.repeat(100));
    const start = performance.now();
    expect(await found()).toEqual([]);
    expect(performance.now() - start).toBeLessThan(12_000);
  });

  test("[TS-SEC-10] reads the rules and the index for at most 32 files", async () => {
    git("init", "-q");
    for (let count = 0; count < 40; count += 1) await write(`.env.${count}`, "A=b");
    expect(await found()).toHaveLength(32);
  });
});
