import { expect, test } from "vitest";
import { createSchemaValidator } from "./schema-validator.js";

test("results are held against the schema of their tool", () => {
  const validate = createSchemaValidator().getValidator({
    type: "object",
    properties: { degrees: { type: "number" } },
    required: ["degrees"],
  });
  expect(validate({ degrees: 21 })).toMatchObject({ valid: true });
  expect(validate({ degrees: "warm" })).toMatchObject({
    valid: false,
    errorMessage: expect.stringContaining("degrees"),
  });
});
