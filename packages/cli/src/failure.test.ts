import { expect, test } from "vitest";
import { reportFailure } from "./failure.js";
import { UsageError } from "./usage-error.js";

function reported(error: unknown): { readonly code: number; readonly stderr: string } {
  let stderr = "";
  const stdout = { write: () => true };
  const io = { stdout, stderr: { write: (text: string) => (stderr += text) }, env: {}, now: () => new Date() };
  return { code: reportFailure(error, io, "tools"), stderr };
}

test("ends a usage error with a pointer to the help, or with a better next step", () => {
  expect(reported(new UsageError("It is wrong."))).toEqual({
    code: 2,
    stderr: "wirescope: It is wrong. See wirescope tools --help.\n",
  });
  expect(reported(new UsageError("a.json:1:1: It is wrong.", { next: "More: wirescope check a.json" }))).toEqual({
    code: 2,
    stderr: "wirescope: a.json:1:1: It is wrong. More: wirescope check a.json\n",
  });
});
