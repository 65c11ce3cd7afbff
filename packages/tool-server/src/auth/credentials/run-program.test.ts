import { describe, expect, test } from "vitest";
import type { ResolvedCommand } from "../../config/substitute-entry.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { programTask } from "./program-task.test.helper.js";
import { type ProgramRun, type ProgramTask, runSecretCommand } from "./run-program.js";

/** Runs a secret command with this script; a command without a path is searched in the folder of the script. */
async function run(
  script: string,
  more: Partial<ResolvedCommand> = {},
  task: Partial<ProgramTask> = {},
): Promise<ProgramRun<string> & { readonly secrets: ProgramTask["secrets"]; readonly folder: string }> {
  const folder = await createScriptFolder();
  await folder.sh(script, "op");
  const command: ResolvedCommand = {
    target: "env",
    name: "TOKEN",
    field: "env.TOKEN",
    command: [`${folder.path}/op`],
    prefix: "",
    timeoutMs: undefined,
    ttlMs: undefined,
    ...more,
  };
  const all: ProgramTask = { ...programTask(folder.path), ...task };
  const result = await runSecretCommand(all, command, new AbortController().signal);
  return { ...result, secrets: all.secrets, folder: folder.path };
}

describe("a secret command", () => {
  test.each([
    ["printf 'the-secret'", "the-secret"],
    ["printf 'the-secret\\n'", "the-secret"],
    ["printf 'the-secret\\r\\n'", "the-secret"],
    ["printf ' the secret '", " the secret "],
  ])("[TS-D-SECRET-3] reads the output of a command without the line break at the end: %s", async (script, secret) => {
    const { result, secrets } = await run(script, { prefix: "Key " });
    expect(result).toBe(`Key ${secret}`);
    expect(secrets.redact(`<${secret.trim()}>`)).toBe("<[redacted]>");
  });

  test.each([
    [":", "env", "wrote nothing to standard output."],
    ["printf ' \\n'", "env", "wrote nothing to standard output."],
    ["printf 'the-secret\\nthe-other'", "env", "wrote more than one line."],
    ["printf 'the-secret\\n\\n'", "env", "wrote more than one line."],
    ["printf 'the-secret\\rthe-other'", "env", "wrote more than one line."],
    ["printf 'the-secret\\t'", "env", "wrote control characters or invalid UTF-8."],
    ["printf 'the-secret\\351'", "env", "wrote control characters or invalid UTF-8."],
    [
      "printf 'the-secret '",
      "header",
      "wrote a value that cannot be sent, because it has leading or trailing white space.",
    ],
  ] as const)("[TS-D-SECRET-3] reports the output of %s for %s without quoting it", async (script, target, what) => {
    const { result, secrets, folder } = await run(script, { target });
    expect(result).toMatchObject({
      code: "HELPER_OUTPUT_INVALID",
      message: `The command ${folder}/op for env.TOKEN of server "notes" ${what} It must write the secret on one line to standard output, and nothing else.`,
    });
    expect(secrets.redact("a message")).toBe("a message");
  });

  test("[TS-D-SECRET-3] registers each long line of an output that cannot be used", async () => {
    const { secrets } = await run("printf 'line-one\\r\\nline-two\\n7-chars\\n'");
    expect(secrets.redact("line-one, line-two, 7-chars")).toBe("[redacted], [redacted], 7-chars");
  });

  test("[TS-D-SECRET-3] registers the password of Basic credentials that a command prints", async () => {
    const credentials = Buffer.from("user:the-password").toString("base64");
    const { result, secrets } = await run(`printf ${credentials}`, {
      target: "header",
      name: "Authorization",
      prefix: "Basic ",
    });
    expect(result).toBe(`Basic ${credentials}`);
    expect(secrets.redact(`${credentials} the-password`)).toBe("[redacted] [redacted]");
  });

  test("[TS-D-SECRET-3] stops a command at its own time limit, not at that of the task", async () => {
    const { result, outcome } = await run("exec sleep 600", { timeoutMs: 50 }, { timeLimitMs: 600_000 });
    expect(outcome.kind).toBe("timed-out");
    expect(result).toMatchObject({ code: "HELPER_TIMEOUT", message: expect.stringContaining("within 50 ms") });
  });

  test("passes a command its arguments, and no url for a stdio server", async () => {
    const folder = await createScriptFolder();
    const path = await folder.sh('printf "%s" "$*|$HOST_SERVER_NAME|${HOST_SERVER_URL-no url}"', "op");
    const command = [path, "a b", "$(id)"];
    expect((await run("", { command })).result).toBe("a b $(id)|notes|no url");
    const url = "https://notes.example/mcp";
    expect((await run("", { command }, { url })).result).toBe(`a b $(id)|notes|${url}`);
  });

  test("reports a program that does not exist, with the folders of PATH if it was searched there", async () => {
    const missing = await run("", { command: ["./gone"] });
    expect(missing.result).toMatchObject({
      code: "HELPER_NOT_RUNNABLE",
      message: `The command ./gone for env.TOKEN of server "notes" was not found (${missing.folder}/gone). Install it, or write its full path into the command.`,
    });
    const searched = await run("", { command: ["gone"] }, { environment: { PATH: "/no/such/folder" } });
    expect(searched.result).toMatchObject({
      code: "HELPER_NOT_RUNNABLE",
      message: expect.stringMatching(/into the command\. PATH searched: \/no\/such\/folder\.$/),
    });
  });
});
