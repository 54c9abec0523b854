// The openai package against a server: node openai.mjs URL KEY
import assert from "node:assert/strict";
import OpenAI from "openai";

const [url, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url + "/v1", apiKey, maxRetries: 0 });

const model = (await client.models.list()).data[0].id;
assert.equal((await client.models.retrieve(model)).id, model);

const decision = await client.decisions.create({
  model, input: "The cup is cracked.",
  questions: [
    { type: "predicate", name: "refund", instructions: "Refund?" },
    { type: "choice", instructions: "Which?", choices: [{ value: "zeta" }, { value: "alpha", description: "the other" }, { value: true }] },
    { type: "score", name: "damage", instructions: "How bad?", levels: [{ label: "none" }, { label: "broken" }] },
  ],
});
const [refund, which, damage] = decision.answers;
assert.ok(refund.probability >= 0 && refund.probability <= 1);
assert.deepEqual(which.probabilities.map(p => p.value), ["zeta", "alpha", true]);
assert.ok(Math.abs(which.probabilities.reduce((s, p) => s + p.probability, 0) - 1) < 1e-9);
assert.equal(which.name, null);
assert.ok(Math.abs(damage.score - damage.probabilities[1].probability) < 1e-9);
assert.ok(decision.usage.input_tokens > 0);

const request = { model, prompt: "Once upon a time", max_tokens: 40, seed: 7 };
const whole = await client.completions.create(request);
let text = "", last;
for await (const event of await client.completions.create({ ...request, stream: true, stream_options: { include_usage: true } })) {
  text += event.choices[0]?.text ?? "";
  last = event;
}
assert.equal(text, whole.choices[0].text);
assert.ok(text.length > 20);
assert.equal(last.usage.completion_tokens, whole.usage.completion_tokens);
assert.ok(whole.usage.completion_tokens > 0);

// A stream that is left cancels, and the server goes on.
for await (const _ of await client.completions.create({ ...request, max_tokens: 400, stream: true })) break;

// The model has no chat template: the refusal is one that the package knows.
await assert.rejects(client.chat.completions.create({ model, messages: [{ role: "user", content: "a" }] }), OpenAI.BadRequestError);
await assert.rejects(client.completions.create({ ...request, model: "other" }), e => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
await assert.rejects(new OpenAI({ baseURL: url + "/v1", apiKey: "wrong", maxRetries: 0 }).models.list(), OpenAI.AuthenticationError);
console.log("openai: models, decisions, text, streams, errors");
