import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";

type Form = ElicitRequestFormParams["requestedSchema"];

/** A form for who somebody is. */
export const contact: Form = {
  type: "object",
  properties: {
    username: { type: "string", description: "User's response" },
    email: { type: "string", description: "User's email address" },
  },
  required: ["username", "email"],
};

/** A form with a default for each kind of field. */
export const defaults: Form = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
};

const plain = ["option1", "option2", "option3"];
const titled = (what: string): { const: string; title: string }[] =>
  ["First", "Second", "Third"].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${what}` }));

/** A form with each kind of choice. */
export const enums: Form = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: plain },
    titledSingle: { type: "string", oneOf: titled("Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: plain } },
    titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
  },
};
