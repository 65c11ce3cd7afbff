// Replaces in the bundle what the SDK brings along for Node: its validator of schemas is a quarter of the SDK, and our connections
// bring one that is loaded when it is needed.

export const CORS_IS_POSSIBLE = false;

export class DefaultJsonSchemaValidator {
  constructor() {
    throw new Error("A client in the bundle is given its validator: jsonSchemaValidator.");
  }
}
