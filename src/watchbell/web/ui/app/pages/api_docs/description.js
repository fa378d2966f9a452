/** Reads the OpenAPI description: operations by resource, and types in words. */

/**
 * @typedef {{$ref?: string, type?: string | string[], enum?: unknown[], items?: Schema, oneOf?: Schema[], anyOf?: Schema[],
 *   properties?: Record<string, Schema>, additionalProperties?: boolean | Schema, required?: string[], description?: string}} Schema
 * @typedef {{name: string, in: "path" | "query" | "header", required?: boolean, schema: Schema, description?: string}} Parameter
 * @typedef {{content?: Record<string, {schema: Schema}>, description?: string}} Content
 * @typedef {{operationId: string, tags?: string[], description: string, parameters?: Parameter[], requestBody?: Content,
 *   responses: Record<string, Content>, "x-scope"?: string, "x-codeSamples"?: {source: string}[]}} OpenApiOperation
 * @typedef {{info: {description: string}, paths: Record<string, Record<string, OpenApiOperation>>,
 *   components: {schemas: Record<string, Schema>}}} Description
 * @typedef {{id: string, method: string, path: string, described: OpenApiOperation, text: string}} OperationInfo
 *   `text`: where the filter looks
 * @typedef {{name: string, id: string, operations: OperationInfo[]}} Section
 */

/**
 * The operations that contain all words of a text, by resource.
 * @param {Description} description
 * @param {string} text
 * @returns {Section[]}
 */
export function sections(description, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  /** @type {Map<string, OperationInfo[]>} */
  const found = new Map();
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const one = { id: described.operationId, method: method.toUpperCase(), path, described, text: searched(method, path, described) };
      const tag = described.tags?.[0] ?? "Other";
      if (words.every((word) => one.text.includes(word))) found.set(tag, [...(found.get(tag) ?? []), one]);
    }
  }
  return [...found].map(([name, operations]) => ({ name, id: `resource-${name.toLowerCase().replaceAll(" ", "-")}`, operations }));
}

/** @param {string} method @param {string} path @param {OpenApiOperation} described */
function searched(method, path, described) {
  const parameters = (described.parameters ?? []).map((one) => `${one.name} ${one.description ?? ""}`);
  const bodies = Object.values(described.requestBody?.content ?? {}).map((one) => nameOf(one.schema));
  return [method, path, described.tags?.[0], described.description, ...parameters, ...bodies].join(" ").toLowerCase();
}

/** The name of a schema that stands elsewhere. @param {Schema} schema */
export function nameOf(schema) {
  return schema.$ref?.split("/").at(-1) ?? "";
}

/** @param {Schema} schema @returns {string} as `list of string`, `integer or null` */
export function typeOf(schema) {
  if (schema.$ref) return nameOf(schema);
  if (schema.items) return `list of ${typeOf(schema.items)}`;
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return [...new Set(several.map(typeOf).filter((one) => one !== "any"))].join(" or ") || "any";
  if (schema.enum) return schema.enum.map((one) => (one === null ? "null" : `"${one}"`)).join(", ");
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  return schema.type ?? "any";
}

/**
 * The objects that a schema consists of, each once.
 * @param {Schema} schema
 * @returns {Schema[]}
 */
export function objectsOf(schema) {
  if (schema.$ref || schema.properties) return [schema];
  if (schema.items) return objectsOf(schema.items);
  const all = (schema.oneOf ?? schema.anyOf ?? []).flatMap(objectsOf);
  return all.filter((one, at) => !one.$ref || all.findIndex((other) => other.$ref === one.$ref) === at);
}
