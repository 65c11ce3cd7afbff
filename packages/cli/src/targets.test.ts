import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { expandTargets } from "./targets.js";
import { UsageError } from "./usage-error.js";

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-targets-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "targets");
  writeFileSync(path, text);
  return path;
}

const lookUp = async (host: string): Promise<readonly string[]> => {
  if (host !== "orders.internal") throw new Error("ENOTFOUND");
  return ["10.0.0.7", "10.0.0.8", "2001:db8::5", "10.0.0.7"];
};

test("[CZ-D-CLI-4] reads targets from a file, one per line, with comments and names", async () => {
  const path = fileWith(
    "# all of them\n10.0.0.7:50051\r\n\n  orders=10.0.0.8:50051 # the second\nunix:/run/a#b.sock\n",
  );
  expect(await expandTargets([":4690", `@${path}`])).toEqual([
    { name: undefined, target: ":4690" },
    { name: undefined, target: "10.0.0.7:50051" },
    { name: "orders", target: "10.0.0.8:50051" },
    { name: undefined, target: "unix:/run/a#b.sock" },
  ]);
});

test("[CZ-D-CLI-4] reads every address of a DNS name, and keeps the name for certificates", async () => {
  for (const written of ["dns:orders.internal:50051", "dns:///orders.internal:50051"]) {
    expect(await expandTargets([written], lookUp)).toEqual([
      { name: undefined, target: "10.0.0.7:50051", hostName: "orders.internal" },
      { name: undefined, target: "10.0.0.8:50051", hostName: "orders.internal" },
      { name: undefined, target: "[2001:db8::5]:50051", hostName: "orders.internal" },
    ]);
  }
  const named = await expandTargets(["eu=dns:orders.internal:1"], lookUp);
  expect(named.map(({ name }) => name)).toEqual(["eu/10.0.0.7", "eu/10.0.0.8", "eu/2001:db8::5"]);
});

test("keeps a DNS name without addresses as a target, which reading reports", async () => {
  expect(await expandTargets(["dns:nowhere.internal:1"], lookUp)).toEqual([
    { name: undefined, target: "nowhere.internal:1" },
  ]);
});

test("reads a target that is given twice once, under its name if it has one", async () => {
  expect(await expandTargets(["a:1", "a:1", "b:1", "web=b:1"])).toEqual([
    { name: undefined, target: "a:1" },
    { name: "web", target: "b:1" },
  ]);
});

test.each([
  ["a name that is used twice", "web=a:1\nweb=b:1\n", /uses the name "web" twice/],
  [
    "a line that is no target",
    "a:1\nnonsense\n",
    /^Line 2 of .*: The target "nonsense" is invalid: the port is missing/,
  ],
  ["a file in a file", "@other\n", /^Line 1 of /],
  ["an empty file", "# nothing\n", /contains no target/],
  [
    "too many targets",
    Array.from({ length: 1001 }, (_, n) => `a:${n + 1}`).join("\n"),
    /1001 processes; the maximum is 1000/,
  ],
  ["a file that is too large", "#".repeat(1024 * 1024 + 1), /larger than 1 MiB/],
  ["a URL as a DNS name", "dns:https://a.example\n", /dns: takes a name and a port/],
])("rejects %s with a usage error", async (_, text, message) => {
  const expanding = expandTargets([`@${fileWith(text)}`], lookUp);
  await expect(expanding).rejects.toThrow(message);
  await expect(expanding).rejects.toBeInstanceOf(UsageError);
});

test("rejects a file that does not exist", async () => {
  await expect(expandTargets(["@/nonexistent/targets"])).rejects.toThrow(
    "Cannot read the file /nonexistent/targets (--target): the file does not exist.",
  );
});
