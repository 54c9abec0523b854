// TypeSafe's own package against a server: node typesafe.mjs URL KEY
import assert from "node:assert/strict";
import { AuthenticationError, BadRequestError, NotFoundError, TypeSafeClient, UnprocessableEntityError, choice, noul, score } from "@typesafe-ai/sdk";

const [baseURL, apiKey] = process.argv.slice(2);
const options = { baseURL, apiKey, retry: { maxRetries: 0 } };
const models = await new TypeSafeClient(options).models.list();
const client = new TypeSafeClient({ ...options, defaultModel: models[0].name });

const questions = {
  cancel: noul("Does `note` ask to cancel?", { true: "explicit request", false: null }),
  queue: choice({ question: "Which queue?" }, { zeta: "status", alpha: { about: "money back" }, other: null }),
  anger: score("How angry?", ["calm", "annoyed", "furious"]),
};
const state = { order: { id: 71, status: "late" }, note: "Third time I ask. Cancel it." };
const { data, requestId } = await client.systemOne({ state, questions }).withResponse();
const { cancel, queue, anger } = data.answers;
assert.ok(requestId);
assert.equal(data.model, models[0].name);
assert.deepEqual(Object.keys(cancel).filter(k => !k.startsWith("x_")), ["type", "noul"]);
assert.deepEqual(Object.keys(queue.probabilities), ["zeta", "alpha", "other"]);
const top = Math.max(...Object.values(queue.probabilities));
assert.equal(queue.probabilities[queue.choice], top);
assert.ok(Math.abs(queue.confidence - (top - 1 / 3) / (2 / 3)) < 1e-9);
assert.deepEqual(anger.legend, { 0: "calm", 1: "annoyed", 2: "furious" });
assert.ok(Math.abs(anger.score - anger.probabilities[1] - 2 * anger.probabilities[2]) < 1e-9);
const mode = [0, 1, 2].reduce((a, b) => anger.probabilities[b] > anger.probabilities[a] ? b : a);
const distance = [0, 1, 2].reduce((s, i) => s + anger.probabilities[i] * Math.abs(i - mode), 0);
assert.ok(Math.abs(anger.confidence - Math.max(0, 1 - distance / (2 / 3))) < 1e-9);
assert.ok(data.usage.input_tokens > 0);

const many = n => ({ q: choice("?", Object.fromEntries(Array.from({ length: n }, (_, i) => ["o" + i, null]))) });
await assert.rejects(client.systemOne({ state, questions: many(256) }), e => e instanceof BadRequestError && /256 options, limit 255/.test(e.message));
await assert.rejects(client.systemOne({ state, questions: { q: { type: "maybe" } } }), e =>
  e instanceof UnprocessableEntityError && e.body.detail[0].loc.join() === "body,questions,q,type");
await assert.rejects(client.systemOne({ state, questions, model: "jev" }), NotFoundError);
await assert.rejects(new TypeSafeClient({ ...options, apiKey: "wrong" }).systemOne({ state, questions }), AuthenticationError);
console.log("typesafe: models, answers, formulas, errors");
