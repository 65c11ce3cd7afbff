import { createRequire } from "node:module";
import type { ClientOptions } from "@modelcontextprotocol/client";

type SchemaValidator = NonNullable<ClientOptions["jsonSchemaValidator"]>;

const load = createRequire(import.meta.url);

/**
 * Validates results against the output schemas of their tools. The validation library is large, each connection has its own instance,
 * and few tools have a schema: it is loaded for the first tool that has one.
 */
export function createSchemaValidator(): SchemaValidator {
  let validator: SchemaValidator | undefined;
  return {
    getValidator(schema) {
      validator ??= createValidator();
      return validator.getValidator(schema);
    },
  };
}

function createValidator(): SchemaValidator {
  // In two statements: TypeScript 7 drops the parentheses of `new (load(…) as …).Class()`, and that calls the class without `new`.
  const validators: typeof import("@modelcontextprotocol/client/validators/ajv") = load(
    "@modelcontextprotocol/client/validators/ajv",
  );
  return new validators.AjvJsonSchemaValidator();
}
