// Replaces the SDK's shims for Node in the bundle: its schema validator is a quarter of the SDK, and our connections load
// their own on demand.

export const CORS_IS_POSSIBLE = false;

export class DefaultJsonSchemaValidator {
  constructor() {
    throw new Error("A client in the bundle must be created with a jsonSchemaValidator.");
  }
}
