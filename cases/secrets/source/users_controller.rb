# frozen_string_literal: true

# Users, their passwords and their tokens.
class UsersController < ApplicationController
  TOKEN_LENGTH = 32
  PASSWORD_LENGTH = (12..128).freeze
  SECRET_KEYS = %i[password token api_key secret].freeze
  TOKEN_PARAM = :reset_password_token

  before_action :authenticate_with_token!, only: %i[show update]
  attr_accessor :password, :password_confirmation, :token, :secret

  validates :password, presence: true, length: { within: PASSWORD_LENGTH }
  validates :token, uniqueness: true, allow_nil: true
  has_secure_password
  has_secure_token :api_key
  encrypts :secret, deterministic: true

  def create
    user = User.new(user_params)
    user.password = params[:password]
    user.token = SecureRandom.hex(TOKEN_LENGTH)
    user.secret = ENV.fetch("APP_SECRET", nil)
    if user.save
      session[:token] = user.token
      cookies.encrypted[:session] = { value: user.token, httponly: true }
      redirect_to user, notice: "Your password was saved."
    else
      render :new, status: :unprocessable_entity, alert: "Password: #{user.errors[:password].first}"
    end
  end

  def update
    token = request.headers["X-Auth-Token"] || params[:token]
    password = params.require(:user).fetch(:password)
    return head :unauthorized unless token == current_user.token

    current_user.update!(password: password, password_confirmation: params[:password_confirmation])
    render json: { token: current_user.token, tokens: current_user.tokens.count }
  end

  def reset
    user = User.find_by(reset_password_token: params[:reset_password_token])
    user&.reset_password(password: params[:password], token: nil)
    redirect_to login_path(token: user&.token)
  end

  private

  def authenticate_with_token!
    authenticate_or_request_with_http_token do |token, _options|
      ActiveSupport::SecurityUtils.secure_compare(token, api_key)
    end
  end

  def api_key
    @api_key ||= Rails.application.credentials.api_key || ENV["API_KEY"]
  end

  def user_params
    params.require(:user).permit(:name, :password, :password_confirmation, :token)
  end

  def headers_for(token:, password: nil, secret: nil)
    {
      "Authorization" => "Bearer #{token}",
      "X-Password" => password,
      "X-Secret" => secret || default_secret,
      "Cookie" => "session=#{token}"
    }
  end

  def default_secret
    secret = Rails.application.secret_key_base
    secret.presence || raise(KeyError, "secret: none is set")
  end

  def database_url(user: "user", password: "password", host: "localhost")
    "postgres://#{user}:#{password}@#{host}/app"
  end

  def tokenize(text)
    tokens = text.split
    token = tokens.first
    tokens.each_with_index.map { |token, index| [index, token] }.push([-1, token])
  end
end

RSpec.describe UsersController do
  let(:password) { "password" }
  let(:token) { "token" }
  let(:user) { create(:user, password: password, token: token) }

  it "takes a password" do
    post :create, params: { user: { name: "user", password: password, token: "" } }
    expect(User.last.authenticate("password")).to be_truthy
    expect(response.cookies["session"]).to eq(user.token)
  end

  it "refuses another token" do
    request.headers["X-Auth-Token"] = "wrong-token"
    put :update, params: { id: user.id, user: { password: "new password" } }
    expect(response).to have_http_status(:unauthorized)
  end
end
