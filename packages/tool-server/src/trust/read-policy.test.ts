import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { checkOwnership } from "./file-ownership.js";
import { defaultPolicyPath, readPolicy } from "./read-policy.js";
import { createFolder } from "./trust.test.helper.js";

const isPosix = process.platform !== "win32";
const unreadable = (words: RegExp): object => ({ code: "POLICY_UNREADABLE", message: expect.stringMatching(words) });

test("a policy owned by this user or root is read", async () => {
  const { write } = await createFolder();
  const file = await write("policy.json", '{"version": 1, "others": "deny"}');
  expect(await readPolicy(file)).toMatchObject({ path: file, others: "deny" });
});

test.runIf(!existsSync(defaultPolicyPath))("the default policy may be missing", async () => {
  expect(await readPolicy()).toBeUndefined();
});

test("[TS-D-TRUST-8] a given policy must exist and be readable", async () => {
  const { path } = await createFolder();
  await expect(readPolicy(join(path, "none.json"))).rejects.toMatchObject(unreadable(/it does not exist/));
  await symlink(join(path, "none.json"), join(path, "link.json"));
  await expect(readPolicy(join(path, "link.json"))).rejects.toMatchObject(unreadable(/it does not exist/));
  await mkdir(join(path, "folder"));
  await expect(readPolicy(join(path, "folder"))).rejects.toMatchObject(unreadable(/not a file/));
});

test.runIf(isPosix)("[TS-D-TRUST-8] too many open files are not a problem of the policy", async () => {
  const { write } = await createFolder();
  const file = await write("policy.json", '{"version": 1}');
  const program = `
    import { openSync } from "node:fs";
    import { readPolicy } from ${JSON.stringify(new URL("../../dist/trust/read-policy.js", import.meta.url).href)};
    try { for (;;) openSync("/dev/null"); } catch {}
    await readPolicy(${JSON.stringify(file)}).catch(({ message }) => process.stdout.write(message));
  `;
  const limited = ["-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, "--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)("/bin/sh", limited);
  expect(stdout).toMatch(/too many files are open \(EMFILE\)\. Nothing is trusted .* Raise the limit of open files/);
});

test("[TS-D-TRUST-8] problems are reported with file, line and column", async () => {
  const { write } = await createFolder();
  const file = await write("policy.json", '{"version": 1,\n "deny": [{"command": 1}]}');
  await expect(readPolicy(file)).rejects.toMatchObject(
    unreadable(/fixed\. \S*policy\.json:2:23: "command" must be a non-empty string/),
  );
  await expect(readPolicy(await write("large.json", " ".repeat(2_000_000)))).rejects.toMatchObject(unreadable(/bytes/));
});

describe.runIf(isPosix)("[TS-D-TRUST-8] a policy that other users could change", () => {
  const text = '{"version": 1}';

  test.each([0o664, 0o646, 0o666])("rejects a policy whose mode is %o", async (mode) => {
    const { write } = await createFolder();
    const file = await write("policy.json", text, mode);
    await expect(readPolicy(file)).rejects.toMatchObject({
      ...unreadable(/other users can write to it\./),
      advice: "Remove that permission with chmod go-w.",
    });
    await chmod(file, 0o644);
    expect(await readPolicy(file)).toBeDefined();
  });

  test("rejects a policy whose file other users can replace", async () => {
    const { path, write } = await createFolder();
    const file = await write("open/policy.json", text);
    await chmod(join(path, "open"), 0o777);
    await expect(readPolicy(file)).rejects.toMatchObject(unreadable(/its folder .* other users can write to it/));
    // Like /tmp: all users may write there, but not change the files of others.
    await chmod(join(path, "open"), 0o1777);
    expect(await readPolicy(file)).toBeDefined();
  });

  test("rejects a policy if a link points to one that other users could change", async () => {
    const { path, write } = await createFolder();
    await symlink(await write("open.json", text, 0o666), join(path, "policy.json"));
    await expect(readPolicy(join(path, "policy.json"))).rejects.toMatchObject(
      unreadable(/other users can write to it/),
    );
  });

  test.runIf(process.getuid?.() === 0)("rejects a policy that another user owns", async () => {
    const { write } = await createFolder();
    const file = await write("policy.json", text);
    await chown(file, 4711, 4711);
    await expect(readPolicy(file)).rejects.toMatchObject(unreadable(/owned by another user \(4711\)/));
  });

  test.each([
    [{ uid: 0, mode: 0o644 }, 1000, undefined],
    [{ uid: 1000, mode: 0o600 }, 1000, undefined],
    [{ uid: 1001, mode: 0o600 }, 1000, /another user/],
    [{ uid: 1000, mode: 0o600 }, 0, /another user/],
    [{ uid: 1000, mode: 0o620 }, 1000, /other users can write/],
    [{ uid: 1000, mode: 0o602 }, 1000, /other users can write/],
    [{ uid: 1000, mode: 0o1666 }, 1000, /other users can write/],
    [{ uid: 1001, mode: 0o666 }, undefined, undefined],
  ])("decides by owner and mode whether a policy is safe: %j for user %s", (facts, user, words) => {
    const reason = checkOwnership(facts, user)?.reason;
    if (words === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(words);
  });
});
