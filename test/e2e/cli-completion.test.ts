import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelzListener, createRegistry, listenChannelz } from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { program, runCommand, startCommand } from "./command.test.helper.js";
import { endOf, startProcess } from "./running-process.test.helper.js";

const folder = mkdtempSync(join(tmpdir(), "wirescope-completion-"));
const held: unknown[] = [];
let listener: ChannelzListener;

beforeAll(async () => {
  const registry = createRegistry();
  held.push(registry.addChannel({ target: "dns:///a", name: "api" }));
  held.push(registry.addChannel({ target: "dns:///b", name: "$(touch /tmp/owned) `x` ; rm" }));
  held.push(registry.addServer({ name: "web" }));
  listener = await listenChannelz(registry);
  mkdirSync(join(folder, "bin"));
  const command = join(folder, "bin", "wirescope");
  writeFileSync(command, `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
  chmodSync(command, 0o755);
  for (const shell of ["bash", "zsh", "fish"]) {
    writeFileSync(join(folder, `script.${shell}`), (await runCommand(["completion", shell])).stdout);
  }
});

afterAll(async () => {
  await listener.close();
  rmSync(folder, { recursive: true });
});

const env = { ...process.env, PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: folder };

/** Whether a shell is installed. */
function has(shell: string): boolean {
  const exists = spawnSync(shell, ["-c", "exit 0"]).status === 0;
  if (!exists) console.warn(`Completion in ${shell} is not tested: it is not installed (apt-get install ${shell}).`);
  return exists;
}

async function run(shell: string, ...args: string[]): Promise<string[]> {
  const { stdout, stderr, code } = await endOf(startProcess(shell, args, { env, cwd: folder }));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

/** What each shell offers for a line. Every row is a line, and words that must or must not be among the offers. */
const lines = (): readonly (readonly [line: string, offered: readonly string[], not: readonly string[]])[] => [
  ["wirescope so", ["sockets"], ["channels"]],
  ["wirescope channels --s", ["--state", "--sort"], ["--filter"]],
  ["wirescope channels --state TRANS", ["TRANSIENT_FAILURE"], ["READY"]],
  ["wirescope completion ", ["bash", "zsh", "fish"], []],
  [`wirescope show --target ${listener.address} `, ["1", "2", "3"], []],
  [`wirescope sockets --target=${listener.address} --server `, ["3"], []],
  [`wirescope find --target ${listener.address} `, ["api", "web"], ["$(touch", "rm"]],
];

/** Checks each line in a shell: more than once if needed, because ids and names are not offered if the target takes too long. */
async function checkLines(complete: (line: string) => Promise<readonly string[]>): Promise<void> {
  for (const [line, offered, not] of lines()) {
    await vi.waitFor(
      async () => {
        const words = await complete(line);
        expect(words, line).toEqual(expect.arrayContaining([...offered]));
        for (const word of not) expect(words, line).not.toContain(word);
      },
      { timeout: 60_000 },
    );
  }
}

describe("completion in real shells", () => {
  test.skipIf(!has("bash"))("[CZ-D-CLI-11] completes commands, options, choices, ids and names in bash", () =>
    checkLines((line) =>
      run(
        "bash",
        "--norc",
        "-c",
        `source ${folder}/script.bash; COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; _wirescope; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ),
    ),
  );

  test.skipIf(!has("fish"))("[CZ-D-CLI-11] completes commands, options, choices, ids and names in fish", () =>
    checkLines(async (line) => {
      const offers = await run("fish", "--no-config", "-c", `source ${folder}/script.fish; complete -C '${line}'`);
      return offers.map((each) => each.split("\t")[0]?.split("=").at(-1) ?? "");
    }),
  );

  test.skipIf(!has("zsh"))("[CZ-D-CLI-11] completes commands, options, choices, ids and names in zsh", () => {
    // Outside a terminal zsh completes nothing, so the function is called with a _describe that prints.
    const stub = `compdef() { :; }; _files() { :; }; _default() { :; }
      _describe() { local name=$2; print -rl -- "\${(@P)name}"; }`;
    return checkLines(async (line) => {
      const offers = await run(
        "zsh",
        "-f",
        "-c",
        `${stub}; source ${folder}/script.zsh; words=(${line} ''); CURRENT=\${#words}
          [[ '${line}' == *' ' ]] || { words[-1]=(); CURRENT=\${#words}; }; _wirescope`,
      );
      const words = offers.map((each) => each.split(":")[0] ?? "");
      // zsh itself selects the words that begin with what was typed.
      return words.filter((word) => word.startsWith(line.split(" ").at(-1) ?? ""));
    });
  });
});

test("[CZ-D-CLI-11] offers no ids, in time and without a message, if the target is silent, unreachable or wrong", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const port = typeof address === "object" ? address?.port : 0;
  const completionOf = (target: string) => ["completion", "ids", "--", "show", "--target", target];
  const nothing = { code: 0, stdout: "", stderr: "" };
  // A process, because it has to end although it is connected.
  expect(await endOf(startCommand(completionOf(`127.0.0.1:${port}`), { env }))).toEqual(nothing);
  for (const target of ["127.0.0.1:1", "nonsense", "@/nonexistent"]) {
    expect(await runCommand(completionOf(target))).toEqual(nothing);
  }
});

test("names every command and option in each script, and refuses other shells", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await runCommand(["completion", shell]);
    for (const word of ["channels", "summary", "expires-within", "TRANSIENT_FAILURE", "completion"]) {
      expect(stdout).toContain(word);
    }
  }
  expect(await runCommand(["completion", "tcsh"])).toMatchObject({ code: 2, stdout: "" });
});
