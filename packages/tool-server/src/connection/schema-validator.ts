import { createRequire } from "node:module";
import type { ClientOptions } from "@modelcontextprotocol/client";

type SchemaValidator = NonNullable<ClientOptions["jsonSchemaValidator"]>;

const load = createRequire(import.meta.url);

/**
 * Holds results against the schemas of their tools. The library that can is large, each connection has one of its own, and few tools
 * have such a schema: it is loaded and made for the first that does.
 */
export function createSchemaValidator(): SchemaValidator {
  let validator: SchemaValidator | undefined;
  return {
    getValidator(schema) {
      validator ??= new (
        load(
          "@modelcontextprotocol/client/validators/ajv",
        ) as typeof import("@modelcontextprotocol/client/validators/ajv")
      ).AjvJsonSchemaValidator();
      return validator.getValidator(schema);
    },
  };
}
