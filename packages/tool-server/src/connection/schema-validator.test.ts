import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("validates structured content against the output schema of a tool in the built package", async () => {
  const built = new URL("../../dist/connection/schema-validator.js", import.meta.url);
  const code = `
    const { createSchemaValidator } = await import(${JSON.stringify(String(built))});
    const validate = createSchemaValidator().getValidator({ type: "object", required: ["a"] });
    console.log(validate({ a: 1 }).valid, validate({}).valid);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code]);
  expect(stdout).toBe("true false\n");
});
